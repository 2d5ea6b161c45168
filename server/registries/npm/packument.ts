import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import {
  listDocuments,
  listVersions,
  readDocumentMark,
  type DocumentRow,
  type VersionRow,
} from '../../catalog/queries/registry-documents.ts'
import { readTags } from '../../catalog/queries/tags.ts'
import type { PackageName } from '../../core/identity.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { tarballName } from '../../formats/npm/name.ts'
import type { RegistryDeps } from '../deps.ts'
import { whyHeld } from '../held.ts'
import type { RegistryRequest } from '../protocol.ts'
import { packageOf } from './refs.ts'
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
export interface NameRows<Row extends VersionRow = VersionRow> {
  readonly rows: readonly Row[]
  readonly tags: ReadonlyMap<string, string>
}

/** A version whose document is shown. */
type Served = DocumentRow & { readonly document: string }
const hasDocument = (row: DocumentRow): row is Served => row.document !== null

/** A version as registries show it: the prepared text, and what depends on the address and on people. */
function pieceOf(row: Served, { address, name }: { readonly address: string; readonly name: string }): string {
  const { version, deprecated, beside } = row
  const hasProvenance = beside.some(path => path.endsWith('.sigstore'))
  const dist = {
    shasum: row.sha1,
    integrity: `sha512-${Buffer.from(row.sha512, 'hex').toString('base64')}`,
    tarball: `${address}/${name}/-/${tarballName({ name, version })}`,
    fileCount: row.file_count,
    unpackedSize: row.unpacked_size,
    ...(hasProvenance
      ? { attestations: { url: `${address}/-/npm/v1/attestations/${name}@${version}`, provenance: PROVENANCE } }
      : {}),
  }
  const notes = deprecated === null ? '' : `,"deprecated":${JSON.stringify(deprecated)}`
  return `${row.document.slice(0, -1)},"dist":${JSON.stringify(dist)}${notes}}`
}

const PROVENANCE = { predicateType: 'https://slsa.dev/provenance/v1' } as const

/** What npm is told of versions that it must not get: it prints the message when one of them is asked for. */
function restrictionsOf(rows: readonly VersionRow[], console: string): unknown {
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
function join(
  form: 'full' | 'short',
  { rows, tags }: NameRows<DocumentRow>,
  { address, console, name, mark }: { mark: string; name: string } & Asked,
): string {
  const served = rows.filter(hasDocument)
  const latest = served.find(({ version }) => version === tags.get('latest'))
  const times = served.map(({ version, created_at }): [string, Date] => [version, created_at])
  const moments = rows.map(({ created_at }) => created_at.getTime())
  const modified = new Date(Math.max(0, ...moments))
  const time = { created: new Date(Math.min(...moments)), modified, ...Object.fromEntries(times) }
  const head = form === 'full' ? { _id: name, _rev: revisionOf(mark), name, ...describe(latest) } : { name, modified }
  const tail = { 'dist-tags': Object.fromEntries(tags), time, 'policyRestrictions': restrictionsOf(rows, console) }
  const versions = served.map(row => `${JSON.stringify(row.version)}:${pieceOf(row, { address, name })}`)
  return `${JSON.stringify(head).slice(0, -1)},${JSON.stringify(tail).slice(1, -1)},"versions":{${versions.join(',')}}}`
}

/** What a packument says of its package, taken from its latest version. */
function describe(latest: Served | undefined): Record<string, unknown> {
  if (latest === undefined) return {}
  const { description, license, homepage, keywords, repository, bugs, author } = JSON.parse(latest.document) as Record<
    string,
    unknown
  >
  return { description, license, homepage, keywords, repository, bugs, author }
}

/** The revision that a client names when it changes a document: another than the newest is refused. */
const revisionOf = (mark: string): string => `1-${createHash('md5').update(mark).digest('hex')}`

/** Documents about names, joined from prepared pieces and kept while nothing they follow from changes. */
export interface Packuments {
  /** Undefined where there is no such name. */
  find(asked: Asked, name: string, form: 'full' | 'short', isPacked: boolean): Promise<Joined | undefined>
  /** The versions with their tags; undefined where there is no such name. */
  rows(asked: Pick<Asked, 'registry' | 'caller'>, name: string): Promise<NameRows | undefined>
  /** One version in full as JSON text; undefined where it is not served. */
  version(asked: Asked, name: string, version: string): Promise<string | undefined>
  /** What a client names when it changes the document; undefined where there is no such name. */
  revision(asked: Pick<Asked, 'registry' | 'caller'>, name: string): Promise<string | undefined>
}

/** What every answer about names is made with. */
export interface NpmDeps extends RegistryDeps {
  readonly packuments: Packuments
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

  async function withTags<Row extends VersionRow>(
    rows: readonly Row[],
    viewer: Viewer,
    of: PackageName,
  ): Promise<NameRows<Row>> {
    return { rows, tags: tagsOf(rows, await readTags(db, viewer, of)) }
  }

  async function make(
    asked: Asked,
    about: { name: string; mark: string; form: 'full' | 'short'; isPacked: boolean; etag: string },
  ): Promise<Joined> {
    const { name, mark, form, isPacked, etag } = about
    const of = packageOf(asked, name)
    const { viewer } = asked.caller
    const rows = await listDocuments(db, viewer, { ...of, form })
    const plain = Buffer.from(join(form, await withTags(rows, viewer, of), { ...asked, name, mark }))
    const isWorthIt = isPacked && plain.length >= WORTH_PACKING
    return { bytes: isWorthIt ? await zip(plain) : plain, isPacked: isWorthIt, etag }
  }

  const markOf = (asked: Pick<Asked, 'registry' | 'caller'>, name: string): Promise<string | undefined> =>
    readDocumentMark(db, asked.caller.viewer, packageOf(asked, name))

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
      const { viewer } = asked.caller
      const of = packageOf(asked, name)
      const rows = await listVersions(db, viewer, of)
      return rows.length === 0 ? undefined : withTags(rows, viewer, of)
    },
    async version(asked, name, version) {
      const [row] = await listDocuments(db, asked.caller.viewer, { ...packageOf(asked, name), form: 'full', version })
      return row !== undefined && hasDocument(row) ? pieceOf(row, { address: asked.address, name }) : undefined
    },
    async revision(asked, name) {
      const mark = await markOf(asked, name)
      return mark === undefined ? undefined : revisionOf(mark)
    },
  }
}
