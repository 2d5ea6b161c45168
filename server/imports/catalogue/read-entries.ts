import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { FormatId, RelPath } from '../../core/identity.ts'
import type { FetchPath, Upstream, UpstreamEntry, UpstreamPlace, UpstreamReader } from '../../formats/upstream.ts'
import { parsing } from '../../formats/upstream-files.ts'
import { answering, type KeyAnswer } from './key-answers.ts'
import { bulkAsked, capabilityRows, copyRow, kept, packageRow } from './rows.ts'

/** The files that a read leaves in its folder, as rows of COPY. */
export const FILES = { packages: 'packages.copy', capabilities: 'capabilities.copy', modules: 'modules.copy' } as const

/** What is read, and what is known of it already. Crosses threads, so it holds no functions. */
export interface ReadQuestion {
  readonly format: FormatId
  readonly sourceId: number
  readonly place: Omit<UpstreamPlace, 'fetch' | 'keys'>
  /** The files that `open` asks for, as they were verified; undefined: not there. */
  readonly roots: readonly (readonly [path: string, bytes: Uint8Array | undefined])[]
  readonly answers: readonly KeyAnswer[]
  /** SHA-1 of known entries, one after the other; the answer says which of them were seen. */
  readonly known: Uint8Array
  /** Names of the kinds that are kept only where somebody asks for them, that are asked for elsewhere. */
  readonly asked: readonly string[]
  /** New packages have the ids from here on. */
  readonly firstId: number
  readonly mostPackages: number
  readonly folder: string
}

export interface ReadAnswer {
  readonly entries: number
  readonly added: number
  /** One byte for each known entry: 1 where it was seen. */
  readonly seen: Uint8Array
  /** As in the question; also those that the new packages ask for. */
  readonly asked: readonly string[]
  readonly leftOut: boolean
  readonly hasModules: boolean
}

const DIGEST = 20
const FLUSH = 2 ** 20

/** Collects text and writes it in large pieces; the thread has nothing else to do meanwhile. */
function openOutput(path: string) {
  const file = openSync(path, 'w', 0o600)
  let parts: string[] = []
  let length = 0
  const flush = (): void => {
    writeWhole(file, Buffer.from(parts.join('')))
    parts = []
    length = 0
  }
  return {
    add(text: string): void {
      parts.push(text)
      length += text.length
      if (length > FLUSH) flush()
    },
    close(): void {
      flush()
      closeSync(file)
    },
  }
}

function writeWhole(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at)
}

function knownOf(known: Uint8Array): Map<string, number> {
  const text = Buffer.from(known.buffer, known.byteOffset, known.byteLength).toString('hex')
  return new Map(
    Array.from({ length: known.length / DIGEST }, (_, n) => [text.slice(n * DIGEST * 2, (n + 1) * DIGEST * 2), n]),
  )
}

async function writeModules(upstream: Upstream, folder: string): Promise<boolean> {
  if (upstream.modules === undefined) return false
  const out = openOutput(join(folder, FILES.modules))
  try {
    for (const { name, version, arch, module, isDefault } of await upstream.modules())
      out.add(copyRow([name, version, arch, module, isDefault ? 'f' : 't']))
  } finally {
    out.close()
  }
  return true
}

/** Writes the new packages of an upstream into files. */
function createWriting({ sourceId, firstId, mostPackages, folder, asked }: ReadQuestion) {
  const packages = openOutput(join(folder, FILES.packages))
  const capabilities = openOutput(join(folder, FILES.capabilities))
  const allAsked = new Set(asked)
  let added = 0
  let leftOut = false
  return {
    result: () => ({ added, leftOut, asked: [...allAsked] }),
    add(entry: UpstreamEntry): void {
      const read = entry.read()
      // nobody installs a source package
      if (read.identity.arch === 'src' || read.identity.arch === 'nosrc') return
      if (added === mostPackages) throw new Error(`the source has more than ${mostPackages} packages`)
      for (const name of bulkAsked(read.relations)) allAsked.add(name)
      const of = { id: firstId + added, sourceId, component: entry.component, digest: entry.digest }
      const left = kept(read.relations, allAsked)
      leftOut ||= left.leftOut
      const one = { ...read, relations: left.relations }
      parsing(read.path, () => packages.add(packageRow(one, of)))
      parsing(read.path, () => capabilities.add(capabilityRows(one, of)))
      added += 1
    },
    close(): void {
      packages.close()
      capabilities.close()
    },
  }
}

/**
 * Reads the indexes of an upstream whose root is verified, parses the entries that are not known, and leaves them as
 * rows of COPY in files. What is in the files counts only when this returns. @throws upstream_refused
 */
export async function readEntries(
  reader: UpstreamReader,
  question: ReadQuestion,
  { fetch, told }: { readonly fetch: FetchPath; readonly told: (entries: number) => void },
): Promise<ReadAnswer> {
  const roots = new Map(question.roots)
  const place: UpstreamPlace = {
    ...question.place,
    keys: answering(question.answers),
    fetch: async (path: RelPath, limits) => {
      if (!roots.has(path)) return fetch(path, limits)
      const bytes = roots.get(path)
      return bytes === undefined ? undefined : once(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    },
  }
  const upstream = await reader.open(place)
  const known = knownOf(question.known)
  const seen = new Uint8Array(known.size)
  const fresh = new Set<string>()
  const writing = createWriting(question)
  let entries = 0
  try {
    for await (const entry of upstream.entries()) {
      if (++entries % 5_000 === 0) told(entries)
      const place = known.get(entry.digest)
      if (place !== undefined) seen[place] = 1
      // one entry may stand in two indexes
      else if (!fresh.has(entry.digest)) {
        fresh.add(entry.digest)
        writing.add(entry)
      }
    }
  } finally {
    writing.close()
  }
  const hasModules = await writeModules(upstream, question.folder)
  return { entries, seen, ...writing.result(), hasModules }
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield await Promise.resolve(bytes)
}
