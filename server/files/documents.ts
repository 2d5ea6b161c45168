import { mkdir, readdir, readFile, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Codename } from '../core/identity.ts'
import { isUnfinished, writeAtomic } from '../lib/atomic.ts'
import type { Layout } from './layout.ts'

/** A document of a tree as it is kept; what its kind has no use for is empty. */
export interface StoredDocument {
  readonly codename: Codename
  readonly kind: string
  readonly component: string
  readonly arch: string
  readonly name: string
  readonly sha256: string
  readonly size: number
  readonly entries: number
  readonly by: string
  /** ISO 8601. */
  readonly at: string
}

/**
 * What lies in `documents/`: a document, the bytes of one, a file whose writing was stopped, or what cannot be read,
 * never skipped silently.
 */
export type FoundDocument = { readonly codename: Codename; readonly path: string } & (
  | { readonly document: StoredDocument }
  | { readonly sha256: string }
  | { readonly unfinished: string }
  | { readonly broken: string }
)

/**
 * Documents on disk, `documents/<codename>/`: the bytes by their SHA-256, and for each document one
 * `<kind>,<component>,<arch>,<name>.json`. The database is made from them where it has none.
 */
export interface DocumentFiles {
  /** The bytes; written before the database names them. */
  keep(codename: Codename, sha256: string, bytes: Buffer): Promise<void>
  read(document: Pick<StoredDocument, 'codename' | 'sha256'>): Promise<Buffer>
  /** Removes bytes that no document has, or an unfinished file. */
  discard(codename: Codename, name: string): Promise<void>
  /** Makes the folder say what `all` says, and removes the rest. */
  settle(codename: Codename, all: readonly StoredDocument[]): Promise<void>
  /** Everything that lies there, of one distribution or of all, in no order. */
  walk(only?: Codename): AsyncIterable<FoundDocument>
}

const list = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })

const cardName = ({ kind, component, arch, name }: StoredDocument): string =>
  `${kind},${component},${arch},${name}.json`

/** @throws Error with the reason when it is no document of this schema, or lies where another one belongs */
function readCard(text: string, at: { readonly codename: string; readonly file: string }): StoredDocument {
  const { schema, ...document } = JSON.parse(text) as StoredDocument & { readonly schema: unknown }
  const texts = [document.kind, document.component, document.arch, document.name, document.by, document.at]
  if (
    schema !== 1 ||
    !texts.every(value => typeof value === 'string') ||
    !/^[0-9a-f]{64}$/.test(document.sha256) ||
    ![document.size, document.entries].every(Number.isInteger) ||
    Number.isNaN(Date.parse(document.at))
  )
    throw new Error('it is not a document of schema 1')
  if (document.codename !== at.codename || cardName(document) !== at.file)
    throw new Error(`it says that it is ${document.codename}/${cardName(document)}`)
  return document
}

/** The documents below one root. */
export function createDocumentFiles({ documents }: Pick<Layout, 'documents'>): DocumentFiles {
  const folder = (codename: Codename): string => join(documents, codename)
  return {
    async keep(codename, sha256, bytes) {
      await mkdir(folder(codename), { recursive: true })
      await writeAtomic(join(folder(codename), sha256), bytes)
    },
    read: ({ codename, sha256 }) => readFile(join(folder(codename), sha256)),
    discard: (codename, name) => rm(join(folder(codename), name), { force: true }),
    async settle(codename, all) {
      const wanted = new Set(all.flatMap(one => [one.sha256, cardName(one)]))
      for (const one of all)
        await writeAtomic(join(folder(codename), cardName(one)), `${JSON.stringify({ schema: 1, ...one })}\n`)
      for (const name of await list(folder(codename)))
        if (!wanted.has(name)) await rm(join(folder(codename), name), { force: true })
      if (all.length === 0) await rmdir(folder(codename)).catch(() => undefined) // not there, or not ours
    },
    async *walk(only) {
      for (const name of only === undefined ? await list(documents) : [only]) {
        const codename = name as Codename
        for (const file of await list(folder(codename))) {
          const found = { codename, path: `${codename}/${file}` }
          if (/^[0-9a-f]{64}$/.test(file)) yield { ...found, sha256: file }
          else if (isUnfinished(file)) yield { ...found, unfinished: file }
          else
            try {
              yield {
                ...found,
                document: readCard(await readFile(join(documents, found.path), 'utf8'), { codename, file }),
              }
            } catch (error) {
              yield { ...found, broken: error instanceof Error ? error.message : String(error) }
            }
        }
      }
    },
  }
}
