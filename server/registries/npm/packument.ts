import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { listDocuments, readDocumentMark, type DocumentRow } from '../../catalog/queries/registry-documents.ts'
import { readTags } from '../../catalog/queries/tags.ts'
import type { PackageName } from '../../core/identity.ts'
import type { Queryable } from '../../db/db.ts'
import { tarballName } from '../../formats/npm/name.ts'
import { whyHeld } from '../held.ts'
import type { RegistryRequest } from '../protocol.ts'
import { tagsOf } from './tags.ts'

const zip = promisify(gzip)

/** The form that leaves out what installing does not need. */
export const SHORT_TYPE = 'application/vnd.npm.install-v1+json'

/** Joined documents are kept up to so many bytes together; the least recently asked for go first. */
const MOST_KEPT = 64 * 2 ** 20
/** Smaller documents are sent as they are. */
const WORTH_PACKING = 1_024
/** So many versions that are held say why in one document: those that were published last. */
const MOST_REASONS = 20

/** Who asks and by which address; the document has both addresses in it. */
export type Asked = Pick<RegistryRequest, 'registry' | 'address' | 'console' | 'caller'>

/** A document about a name, in one of its forms. */
export interface Joined {
  readonly bytes: Buffer
  /** Whether the bytes are packed with gzip. */
  readonly isPacked: boolean
  readonly etag: string
}

/** Every version of a name, with their tags. */
export interface NameRows {
  readonly rows: readonly DocumentRow[]
  readonly tags: ReadonlyMap<string, string>
}

/** Where the tarball of a version is. */
export const tarballAddress = (address: string, name: string, version: string): string =>
  `${address}/${name}/-/${tarballName({ name, version })}`

/** A version as registries show it: the prepared text, and what depends on the address and on people. */
export function pieceOf(
  row: DocumentRow,
  form: 'full' | 'short',
  { address, name }: { readonly address: string; readonly name: string },
): string {
  const { version, deprecated, beside } = row
  const hasProvenance = beside.some(path => path.endsWith('.sigstore'))
  const dist = {
    shasum: row.sha1,
    integrity: `sha512-${Buffer.from(row.sha512, 'hex').toString('base64')}`,
    tarball: tarballAddress(address, name, version),
    fileCount: row.file_count,
    unpackedSize: row.unpacked_size,
    ...(hasProvenance
      ? { attestations: { url: `${address}/-/npm/v1/attestations/${name}@${version}`, provenance: PROVENANCE } }
      : {}),
  }
  const notes = deprecated === null ? '' : `,"deprecated":${JSON.stringify(deprecated)}`
  return `${row[form].slice(0, -1)},"dist":${JSON.stringify(dist)}${notes}}`
}

const PROVENANCE = { predicateType: 'https://slsa.dev/provenance/v1' } as const

/** What npm is told of versions that it must not get: it prints the message when one of them is asked for. */
function restrictionsOf(rows: readonly DocumentRow[], console: string): unknown {
  const held = rows.filter(({ state }) => state !== 'published')
  if (held.length === 0) return undefined
  const newest = held.toSorted((a, b) => b.created_at.getTime() - a.created_at.getTime()).slice(0, MOST_REASONS)
  const reasons = newest.flatMap(({ version, held: manifest }) =>
    manifest === null ? [] : [`${version}: ${whyHeld(manifest, console).sentence}`],
  )
  const more = held.length - newest.length
  return {
    message: `${reasons.join('\n')}${more > 0 ? `\nand ${more} more` : ''}`,
    versions: Object.fromEntries(
      held.map(({ version, held: manifest }) => [version, { name: manifest?.ref.name, version }]),
    ),
  }
}

/** The whole document as JSON text; the pieces of its versions are joined, not parsed. */
function join(form: 'full' | 'short', { rows, tags }: NameRows, about: { mark: string; name: string } & Asked): string {
  const { address, console, name, mark } = about
  const served = rows.filter(({ state }) => state === 'published')
  const latest = served.find(({ version }) => version === tags.get('latest'))
  const times = served.map(({ version, created_at }): [string, Date] => [version, created_at])
  const moments = rows.map(({ created_at }) => created_at.getTime())
  const modified = new Date(Math.max(0, ...moments))
  const time = { created: new Date(Math.min(...moments)), modified, ...Object.fromEntries(times) }
  const head = form === 'full' ? { _id: name, _rev: revisionOf(mark), name, ...describe(latest) } : { name, modified }
  const tail = { 'dist-tags': Object.fromEntries(tags), time, 'policyRestrictions': restrictionsOf(rows, console) }
  const versions = served.map(row => `${JSON.stringify(row.version)}:${pieceOf(row, form, { address, name })}`)
  return `${JSON.stringify(head).slice(0, -1)},${JSON.stringify(tail).slice(1, -1)},"versions":{${versions.join(',')}}}`
}

/** What a packument says of its package, taken from its latest version. */
function describe(latest: DocumentRow | undefined): Record<string, unknown> {
  if (latest === undefined) return {}
  const { description, license, homepage, keywords, repository, bugs, author } = JSON.parse(latest.full) as Record<
    string,
    unknown
  >
  return { description, license, homepage, keywords, repository, bugs, author }
}

/** The revision that a client names when it changes a document: another than the newest is refused. */
export const revisionOf = (mark: string): string => `1-${createHash('md5').update(mark).digest('hex')}`

/** Documents about names, joined from prepared pieces and kept while nothing they follow from changes. */
export interface Packuments {
  /** Undefined where there is no such name. */
  find(asked: Asked, name: string, form: 'full' | 'short', isPacked: boolean): Promise<Joined | undefined>
  /** The rows that a document is joined from, with its revision; undefined where there is no such name. */
  rows(
    asked: Pick<Asked, 'registry' | 'caller'>,
    name: string,
  ): Promise<(NameRows & { readonly revision: string }) | undefined>
}

/** Makes the documents over the table of packages. */
export function createPackuments(db: Queryable): Packuments {
  const kept = new Map<string, Joined>()
  const running = new Map<string, Promise<Joined>>()
  let keptBytes = 0

  const keep = (key: string, joined: Joined): void => {
    kept.set(key, joined)
    keptBytes += joined.bytes.length
    for (const [oldest, { bytes }] of kept) {
      if (keptBytes <= MOST_KEPT) break
      kept.delete(oldest)
      keptBytes -= bytes.length
    }
  }

  async function readRows({ registry, caller }: Pick<Asked, 'registry' | 'caller'>, name: string): Promise<NameRows> {
    const of: PackageName = { format: registry.format, codename: registry.codename, name }
    const rows = await listDocuments(db, caller.viewer, of)
    return { rows, tags: tagsOf(rows, await readTags(db, caller.viewer, of)) }
  }

  async function make(
    asked: Asked,
    about: { name: string; mark: string; form: 'full' | 'short'; isPacked: boolean; etag: string },
  ): Promise<Joined> {
    const { name, mark, form, isPacked, etag } = about
    const plain = Buffer.from(join(form, await readRows(asked, name), { ...asked, name, mark }))
    const isWorthIt = isPacked && plain.length >= WORTH_PACKING
    return { bytes: isWorthIt ? await zip(plain) : plain, isPacked: isWorthIt, etag }
  }

  const markOf = (
    { registry, caller }: Pick<Asked, 'registry' | 'caller'>,
    name: string,
  ): Promise<string | undefined> =>
    readDocumentMark(db, caller.viewer, { format: registry.format, codename: registry.codename, name })

  return {
    async find(asked, name, form, isPacked) {
      const mark = await markOf(asked, name)
      if (mark === undefined) return undefined
      const { registry, address, console } = asked
      const key = JSON.stringify([registry.codename, name, form, isPacked, address, console, mark])
      const known = kept.get(key)
      if (known !== undefined) {
        // asked for last: it goes last
        kept.delete(key)
        kept.set(key, known)
        return known
      }
      const etag = `"${createHash('md5').update(key).digest('hex')}"`
      const making = running.get(key) ?? make(asked, { name, mark, form, isPacked, etag })
      running.set(key, making)
      try {
        const joined = await making
        if (!kept.has(key)) keep(key, joined)
        return joined
      } finally {
        running.delete(key)
      }
    },
    async rows(asked, name) {
      const mark = await markOf(asked, name)
      return mark === undefined ? undefined : { ...(await readRows(asked, name)), revision: revisionOf(mark) }
    },
  }
}
