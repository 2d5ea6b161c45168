import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Codename } from '../core/identity.ts'
import { writeAtomic } from '../lib/atomic.ts'
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
 * Documents on disk, `documents/<codename>/`: the bytes by their SHA-256, and for each document one
 * `<kind>,<component>,<arch>,<name>.json`. The database is made from them where it has none.
 */
export interface DocumentFiles {
  /** The bytes; written before the database names them. */
  keep(codename: Codename, sha256: string, bytes: Buffer): Promise<void>
  read(document: Pick<StoredDocument, 'codename' | 'sha256'>): Promise<Buffer>
  /** Makes the folder say what `all` says, and removes the rest. */
  settle(codename: Codename, all: readonly StoredDocument[]): Promise<void>
  /** Everything that lies there with its bytes. */
  walk(): Promise<readonly StoredDocument[]>
}

const list = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })

const cardName = ({ kind, component, arch, name }: StoredDocument): string =>
  `${kind},${component},${arch},${name}.json`

/** The documents below one root. */
export function createDocumentFiles({ documents }: Pick<Layout, 'documents'>): DocumentFiles {
  const folder = (codename: Codename): string => join(documents, codename)
  return {
    async keep(codename, sha256, bytes) {
      await mkdir(folder(codename), { recursive: true })
      await writeAtomic(join(folder(codename), sha256), bytes)
    },
    read: ({ codename, sha256 }) => readFile(join(folder(codename), sha256)),
    async settle(codename, all) {
      const wanted = new Set(all.flatMap(one => [one.sha256, cardName(one)]))
      for (const one of all)
        await writeAtomic(join(folder(codename), cardName(one)), `${JSON.stringify({ schema: 1, ...one })}\n`)
      for (const name of await list(folder(codename)))
        if (!wanted.has(name)) await rm(join(folder(codename), name), { force: true })
    },
    async walk() {
      const found: StoredDocument[] = []
      for (const codename of await list(documents)) {
        const names = await list(join(documents, codename))
        for (const name of names.filter(one => one.endsWith('.json'))) {
          const text = await readFile(join(documents, codename, name), 'utf8')
          const { schema, ...document } = JSON.parse(text) as StoredDocument & { readonly schema: number }
          if (schema === 1 && names.includes(document.sha256)) found.push(document)
        }
      }
      return found
    },
  }
}
