import { createHash } from 'node:crypto'
import {
  listDocuments,
  listVersions,
  readDocumentMark,
  type DocumentMark,
  type DocumentRow,
  type VersionRow,
} from '../../catalog/queries/registry-documents.ts'
import { readTags } from '../../catalog/queries/tags.ts'
import type { PackageName } from '../../core/identity.ts'
import type { Viewer } from '../../core/viewer.ts'
import { tarballName } from '../../formats/npm/name.ts'
import { whyHeld, type Held } from '../held.ts'
import type { ProtocolDeps } from '../protocol-deps.ts'
import type { RegistryRequest } from '../protocol.ts'
import type { Joined } from '../kept-documents.ts'
import { printDocument, printPiece, type Form, type Parts, type Piece } from './join.ts'
import { packageOf } from '../refs.ts'
import { LATEST, tagsOf } from './tags.ts'

/** Who asks and by which address; the document has both addresses in it. */
export type Asked = Pick<RegistryRequest, 'registry' | 'address' | 'console' | 'caller'>

/** Every version of a name, with their tags. */
export interface NameRows<Row extends VersionRow = VersionRow> {
  readonly rows: readonly Row[]
  readonly tags: ReadonlyMap<string, string>
}

/** What clients read about names, of whatever kind their registry is. */
export interface Documents {
  /** Undefined where there is no such name; its headers say more about it. */
  find(
    asked: Asked,
    name: string,
    form: Form,
    isPacked: boolean,
  ): Promise<(Joined & { readonly headers?: Readonly<Record<string, string>> }) | undefined>
  /** Undefined where there is no such name. */
  tags(asked: Pick<Asked, 'registry' | 'caller'>, name: string): Promise<ReadonlyMap<string, string> | undefined>
  /** One version in full as JSON text, or why clients do not get it; undefined where there is none. */
  version(asked: Asked, name: string, version: string): Promise<string | Held | undefined>
}

/** Documents about what is published here, which people change. */
export interface Packuments extends Documents {
  /** The versions with their tags; undefined where there is no such name. */
  rows(asked: Pick<Asked, 'registry' | 'caller'>, name: string): Promise<NameRows | undefined>
  /** What a client names when it changes the document; undefined where there is no such name. */
  revision(asked: Pick<Asked, 'registry' | 'caller'>, name: string): Promise<string | undefined>
}

/** What every answer about names is made with. */
export interface NpmDeps extends ProtocolDeps {
  readonly packuments: Packuments
}

/** A version whose document is shown. */
type Served = DocumentRow & { readonly document: string }
const hasDocument = (row: DocumentRow): row is Served => row.document !== null

const PROVENANCE = { predicateType: 'https://slsa.dev/provenance/v1' } as const

function pieceOf(row: Served, { address, name }: { readonly address: string; readonly name: string }): Piece {
  const { version, deprecated, beside, document } = row
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
  return { version, document, dist, deprecated: deprecated ?? undefined }
}

function partsOf(
  { rows, tags }: NameRows<DocumentRow>,
  { name, mark, address, console }: { readonly name: string; readonly mark: DocumentMark } & Asked,
): Parts {
  const moments = rows.map(({ created_at }) => created_at.getTime())
  const served = rows.filter(hasDocument)
  const pieces = served.map(row => pieceOf(row, { address, name }))
  return {
    ...{ name, revision: revisionOf(mark.changes), tags, pieces },
    latest: pieces.find(({ version }) => version === tags.get(LATEST)),
    times: served.map(({ version, created_at }) => [version, created_at]),
    created: new Date(Math.min(...moments)),
    modified: new Date(Math.max(0, ...moments)),
    withheld: rows
      .filter(({ state }) => state !== 'published')
      .map(({ version, created_at: at, held }) => ({
        ...{ version, at },
        why: () => (held === null ? undefined : whyHeld(held, console)),
      })),
  }
}

/** The revision that a client names when it changes a document: another than the newest is refused. */
export const revisionOf = (mark: string): string => `1-${createHash('md5').update(mark).digest('hex')}`

/** Makes the documents over the table of packages. */
export function createPackuments({ db, kept }: Pick<ProtocolDeps, 'db' | 'kept'>): Packuments {
  async function withTags<Row extends VersionRow>(
    rows: readonly Row[],
    viewer: Viewer,
    of: PackageName,
  ): Promise<NameRows<Row>> {
    return { rows, tags: tagsOf(rows, await readTags(db, viewer, of)) }
  }

  const markOf = (asked: Pick<Asked, 'registry' | 'caller'>, name: string): Promise<DocumentMark | undefined> =>
    readDocumentMark(db, asked.caller.viewer, packageOf(asked, name))

  async function rowsOf(asked: Pick<Asked, 'registry' | 'caller'>, name: string): Promise<NameRows | undefined> {
    const { viewer } = asked.caller
    const of = packageOf(asked, name)
    const rows = await listVersions(db, viewer, of)
    return rows.length === 0 ? undefined : withTags(rows, viewer, of)
  }

  return {
    async find(asked, name, form, isPacked) {
      const mark = await markOf(asked, name)
      if (mark === undefined) return undefined
      const { registry, address, console, caller } = asked
      const key = JSON.stringify([registry.codename, name, form, address, console, mark.rows])
      return kept.get(key, isPacked, async () => {
        const of = packageOf(asked, name)
        const rows = await listDocuments(db, caller.viewer, { ...of, form })
        const known = await withTags(rows, caller.viewer, of)
        return { texts: printDocument(form, partsOf(known, { ...asked, name, mark })) }
      })
    },
    rows: rowsOf,
    tags: async (asked, name) => (await rowsOf(asked, name))?.tags,
    async version(asked, name, version) {
      const [row] = await listDocuments(db, asked.caller.viewer, { ...packageOf(asked, name), form: 'full', version })
      if (row === undefined) return undefined
      if (row.held !== null) return whyHeld(row.held, asked.console)
      return hasDocument(row) ? printPiece(pieceOf(row, { address: asked.address, name })) : undefined
    },
    async revision(asked, name) {
      const mark = await markOf(asked, name)
      return mark === undefined ? undefined : revisionOf(mark.changes)
    },
  }
}
