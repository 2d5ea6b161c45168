import { createReadStream } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { FormatId } from '../../core/identity.ts'
import { getFormat } from '../../formats/index.ts'
import { createLanes, type Lane } from '../../lib/lanes.ts'
import { createLimitedThreads, ThreadLimit, type ThreadLimits } from '../../lib/limited-threads.ts'
import { isFields, type Fields } from '../../lib/fields.ts'
import { Malformed, malformed, printBytes } from '../../lib/limited.ts'
import { findReader } from './readers.ts'
import type { RemoteEntry, RemoteIndex } from './reader.ts'

/** An index that lies in a file. */
export interface IndexQuestion {
  readonly format: FormatId
  readonly name: string
  readonly url: string
  readonly type: string
  readonly path: string
  readonly sizeBytes: number
  readonly isPacked: boolean
  /** Where the rows go: a line for each list of entries. */
  readonly into: string
}

/** What it holds beside its rows, or why it is none. */
export type IndexRead = { readonly about: Fields; readonly keys: readonly string[] } | { readonly why: string }

/** An index is read whole. The largest that is known, of `next`, has 20 MB. */
const MOST_BYTES = 256 * 2 ** 20
const MOST_ENTRIES = 100_000
/** Of one list of rows, in characters: one is taken up by the database at a time. */
const CHUNK = 256 * 1024

// what a text of PostgreSQL cannot hold
const clean = (text: string): string => text.toWellFormed().replaceAll('\u0000', '')
const cleaned = (value: unknown): unknown => {
  if (typeof value === 'string') return clean(value)
  return isFields(value) ? Object.fromEntries(Object.entries(value).map(([key, one]) => [clean(key), one])) : value
}
const printClean = (value: unknown): string => JSON.stringify(value, (_, one: unknown) => cleaned(one))

/** A date that the database takes. */
function dateOf({ published_at: text }: RemoteEntry): { readonly published_at: string | undefined } {
  const at = new Date(text ?? Number.NaN)
  const isUsual = at.getTime() > 0 && at.getUTCFullYear() < 10_000
  return { published_at: isUsual ? at.toISOString() : undefined }
}

async function bytesOf({ path, isPacked }: IndexQuestion): Promise<Buffer> {
  const bytes = await readFile(path)
  if (!isPacked) return bytes
  try {
    return await promisify(gunzip)(bytes, { maxOutputLength: MOST_BYTES })
  } catch (error) {
    return malformed(`it is no gzip, or has more than ${printBytes(MOST_BYTES)}`, error)
  }
}

/** In a function of its own: what holds the bytes ends with it, and they need not stay while the rows are made. */
async function openIndex(question: IndexQuestion): Promise<RemoteIndex> {
  const { name, url, type } = question
  const reader = findReader(question.format)
  if (reader === undefined) throw new Error(`the format ${question.format} has no reader of indexes`)
  return reader.read({ name, url, type, bytes: await bytesOf(question) })
}

/** The work of the thread. */
export async function readIndexFile(question: IndexQuestion): Promise<IndexRead> {
  const { into } = question
  const format = getFormat(question.format)
  const file = await open(into, 'w', 0o640)
  try {
    const { about, entries } = await openIndex(question)
    const keys = new Set<string>()
    let rows: string[] = []
    let size = 0
    const write = async (): Promise<void> => {
      if (rows.length > 0) await file.write(`[${rows.join(',')}]\n`)
      rows = []
      size = 0
    }
    for (const entry of entries) {
      const key = clean(`${entry.version}\t${entry.arch}`)
      if (keys.has(key)) continue // the first one counts, for clients too
      if (keys.size === MOST_ENTRIES) malformed(`it lists more than ${MOST_ENTRIES} versions`)
      keys.add(key)
      const row = printClean({ ...entry, ...dateOf(entry), sort_key: format.versionKey(entry.version) })
      rows.push(row)
      size += row.length
      if (size >= CHUNK) await write()
    }
    await write()
    return { about: JSON.parse(printClean(about())) as Fields, keys: [...keys] }
  } catch (error) {
    if (error instanceof Malformed) return { why: error.why }
    throw error
  } finally {
    await file.close()
  }
}

// beside the bundle's main program; in the sources below cli/
const PROGRAM = import.meta.filename.endsWith('.ts')
  ? join(import.meta.dirname, '..', '..', 'cli', 'remote-worker.ts')
  : join(import.meta.dirname, 'remote-worker.mjs')
const LIMITS: ThreadLimits = { memoryMb: 1_024, cpuSeconds: 180 }
const IDLE_MS = 5_000
/** From this size on an index has a thread of its own. */
const LARGE_BYTES = 2 ** 20
/** A client asks for many names at once, and a thread may use much memory. Small indexes do not wait for large ones. */
const LANES: readonly Lane[] = [
  { upToBytes: 256 * 1024, atOnce: 2, mostWaiting: Infinity },
  { upToBytes: Infinity, atOnce: 1, mostWaiting: Infinity },
]

/** Reads an index in a thread of its own, which ends at a limit of memory and of processor time. */
export interface IndexReading {
  /** @throws the signal's reason */
  read(question: IndexQuestion, signal: AbortSignal): Promise<IndexRead>
  close(): Promise<void>
}

export function createIndexReading(): IndexReading {
  const threads = createLimitedThreads<IndexQuestion, IndexRead>({ program: PROGRAM, limits: LIMITS, idleMs: IDLE_MS })
  const lanes = createLanes(LANES, () => malformed('too many indexes wait'))
  return {
    async read(question, signal) {
      try {
        const { sizeBytes } = question
        const isLast = sizeBytes > LARGE_BYTES
        return await lanes.run({ sizeBytes, signal }, () => threads.run(question, { signal, isLast }))
      } catch (error) {
        if (!(error instanceof ThreadLimit)) throw error
        return { why: `reading it needs more than it may: ${error.message}` }
      }
    },
    close: () => threads.close(),
  }
}

/** The lists of rows that `read` wrote. */
export async function* chunksIn(path: string): AsyncGenerator<string> {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) yield line
}
