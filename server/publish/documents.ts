import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Codename } from '../core/identity.ts'
import { relPath } from '../core/identity.ts'
import type { Distribution } from '../core/repository.ts'
import type { Queryable } from '../db/db.ts'
import type { DocumentFiles, StoredDocument } from '../files/documents.ts'
import type { Layout } from '../files/layout.ts'
import type { DocumentKind } from '../formats/documents.ts'
import type { Kind, ListedFile } from '../formats/tree.ts'
import { writeAtomic } from '../lib/atomic.ts'
import { XZ_FLAGS, xzBlock, xzHeader, xzTail } from '../lib/xz-stream.ts'
import { contentsFile } from './contents.ts'

const pack = promisify(gzip)
/** Blocks of this size are packed one by one: each takes its own dictionary. */
const XZ_BLOCK = 4 * 2 ** 20

async function compress(bytes: Buffer, kind: Kind): Promise<Buffer> {
  if (kind === '') return bytes
  if (kind === '.gz') return pack(bytes, { level: 9 })
  const blocks = []
  for (let at = 0; at < bytes.length; at += XZ_BLOCK) blocks.push(await xzBlock(bytes.subarray(at, at + XZ_BLOCK)))
  return Buffer.concat([xzHeader(XZ_FLAGS), ...blocks.map(block => block.data), xzTail(XZ_FLAGS, blocks)])
}

/** The documents of a distribution, or of all, in the order of their keys. */
export async function readDocuments(db: Queryable, codename?: Codename): Promise<StoredDocument[]> {
  const rows = await db.query<Omit<StoredDocument, 'at'> & { readonly at: Date }>(
    `select codename, kind, component, arch, name, sha256, size, entries, by, at from document where $1::text is null or codename = $1
    order by codename, kind, component, arch, name`,
    [codename ?? null],
  )
  return rows.map(row => ({ ...row, size: Number(row.size), at: row.at.toISOString() }))
}

/** True where the distribution still has the component and the architecture that the document is for. */
export function belongs({ archs, components }: Distribution, { component, arch }: StoredDocument): boolean {
  return (component === '' || components.includes(component)) && (arch === '' || archs.includes(arch))
}

/** True where the file is this form of a document, of whatever content; `path` is that of the plain form. */
export function isFormOf(file: ListedFile, path: string, kind: Kind): boolean {
  const name = `${basename(path)}${kind}`
  return dirname(file.path) === dirname(path) && [name, `${file.sha256}-${name}`].includes(basename(file.path))
}

export interface DocumentDeps {
  readonly db: Queryable
  readonly layout: Pick<Layout, 'trees'>
  readonly documents: Pick<DocumentFiles, 'read'>
}

/** One form of a document, packed. */
async function make(
  { layout, documents }: DocumentDeps,
  document: StoredDocument,
  { kind, path, addressed }: Pick<DocumentKind, 'addressed'> & { readonly kind: Kind; readonly path: string },
): Promise<ListedFile> {
  const plain = await documents.read(document)
  const bytes = await compress(plain, kind)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  await writeAtomic(contentsFile(layout, document.codename, sha256), bytes)
  const asked = `${path}${kind}`
  return {
    path: relPath(addressed === 'name' ? join(dirname(asked), `${sha256}-${basename(asked)}`) : asked),
    size: bytes.length,
    sha256,
    ...(kind === '' ? {} : { plain: { size: plain.length, sha256: document.sha256 } }),
  }
}

/**
 * The files of a distribution's documents. Files that `before` has are reused: packing a large document takes seconds.
 */
export async function buildDocuments(
  deps: DocumentDeps,
  distribution: Distribution,
  { kinds, before }: { readonly kinds: readonly DocumentKind[]; readonly before: readonly ListedFile[] },
): Promise<ListedFile[]> {
  const files: ListedFile[] = []
  for (const document of await readDocuments(deps.db, distribution.codename)) {
    const of = kinds.find(({ id }) => id === document.kind)
    if (of === undefined || !belongs(distribution, document)) continue
    const path = of.path(document)
    for (const kind of of.kinds) {
      const known = before.find(
        file =>
          isFormOf(file, path, kind) &&
          (file.plain?.sha256 ?? file.sha256) === document.sha256 &&
          existsSync(contentsFile(deps.layout, distribution.codename, file.sha256)),
      )
      files.push(known ?? (await make(deps, document, { kind, path, addressed: of.addressed })))
    }
  }
  return files
}
