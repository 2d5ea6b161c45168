import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { FormatId } from '../core/identity.ts'
import type { Manifest } from '../core/manifest.ts'
import { readPooled, type Pool } from '../files/pool.ts'
import type { SpooledFile } from '../files/spool.ts'
import type { Format } from '../formats/format.ts'
import { writeAtomic } from '../lib/atomic.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'
import { Malformed, printBytes } from '../lib/limited.ts'
import { wantedFiles, type WantedFile } from './archive.ts'
import { componentAt, sortComponents, type Component, type Contents } from './component.ts'
import { jarComponents, type Budget } from './jar.ts'
import { JAVA_ARCHIVE, lockfileReader } from './lockfiles.ts'

/** The parts of a package that are needed here. */
export type Carrier = Pick<Manifest, 'ref' | 'files'>

/** The libraries that packages carry inside themselves. */
export interface Components {
  /**
   * What one package carries. Read from its payload at the first call and kept by its digest. A package without a path
   * that may name components costs nothing.
   * @param paths  its paths, or only whether any of them is a candidate, where a query has found so
   */
  of(carrier: Carrier, paths: readonly string[] | boolean): Promise<Contents>
}

export interface ComponentsDeps {
  readonly pool: Pick<Pool, 'locate'>
  readonly formats: (id: FormatId) => Pick<Format, 'inner'>
  /** `security/components`: a cache that may be removed at any time. */
  readonly folder: string
}

const NOTHING: Contents = { components: [], incomplete: [] }
const SCHEMA = 1
const MOST_LOCKFILE = 16 * 1024 * 1024
const MOST_ARCHIVE = 128 * 1024 * 1024
const MOST_INFLATED = 512 * 1024 * 1024
/** Of all files together. Bytes are the limit, not time: a busy machine must find what a quiet one does. */
const MOST_READ = 1024 * 1024 * 1024
const MOST_COMPONENTS = 20_000
const MOST_NOTES = 20

const ARCHIVE = new RegExp(JAVA_ARCHIVE)
const isArchive = (path: string): boolean => ARCHIVE.test(path)
const isCandidate = (path: string): boolean => isArchive(path) || lockfileReader(path) !== undefined

/** What is known of one package so far. */
interface Reading {
  readonly components: Component[]
  readonly notes: string[]
  readonly budget: Budget
  /** Bytes of wanted files so far. */
  read: number
}

async function readOne({ path, body }: WantedFile, { components, notes, budget }: Reading): Promise<void> {
  try {
    const found = isArchive(path)
      ? await jarComponents(path, body, budget)
      : (lockfileReader(path)?.(body.toString('utf8'), path) ?? []).map(one => componentAt(one, path))
    components.push(...found)
  } catch (error) {
    // yauzl throws plain errors with a sentence for people; whatever this file is, the others still count
    notes.push(
      `${path}: ${error instanceof Malformed ? error.why : error instanceof Error ? error.message : String(error)}.`,
    )
  }
}

/** Reads the payload once, within its budgets. `incomplete` names what exceeds them. */
export async function readContents(
  format: Pick<Format, 'inner'>,
  file: SpooledFile,
  mostRead = MOST_READ,
): Promise<Contents> {
  const reading: Reading = { components: [], notes: [], budget: { bytes: MOST_INFLATED }, read: 0 }
  const { components, notes } = reading
  const want = (path: string, size: number): number | undefined => {
    if (!isCandidate(path)) return undefined
    const most = isArchive(path) ? MOST_ARCHIVE : MOST_LOCKFILE
    if (size > most) notes.push(`${path} has ${size} bytes, at most ${printBytes(most)} are read.`)
    return most
  }
  try {
    for await (const inner of format.inner(file)) {
      for await (const wanted of wantedFiles(inner, want)) {
        reading.read += wanted.body.length
        if (reading.read > mostRead) {
          notes.push(`Its lockfiles and archives have more than ${printBytes(mostRead)}; the rest is left out.`)
          return sorted(reading)
        }
        await readOne(wanted, reading)
        if (components.length > MOST_COMPONENTS) {
          notes.push(`It names more than ${MOST_COMPONENTS} components; the rest is left out.`)
          return sorted(reading)
        }
      }
    }
  } catch (error) {
    notes.push(
      `The payload could not be read to its end: ${error instanceof Malformed ? error.why : error instanceof Error ? error.message : String(error)}.`,
    )
  }
  return sorted(reading)
}

function sorted({ components, notes }: Reading): Contents {
  const cut =
    notes.length > MOST_NOTES ? [...notes.slice(0, MOST_NOTES), `And ${notes.length - MOST_NOTES} more.`] : notes
  return { components: sortComponents(components).slice(0, MOST_COMPONENTS), incomplete: cut }
}

async function readKept(path: string): Promise<Contents | undefined> {
  try {
    const { schema, ...contents } = JSON.parse(await readFile(path, 'utf8')) as Contents & { readonly schema: number }
    return schema === SCHEMA ? contents : undefined
  } catch {
    return undefined // absent or damaged: a cache is made again
  }
}

/**
 * Makes the reader over the pool and its cache. Reads one payload at a time: it is decompressed on the threads that
 * serve requests.
 */
export function createComponents({ pool, formats, folder }: ComponentsDeps): Components {
  const lock = createKeyedLock()
  const pathOf = (digest: string): string => join(folder, digest.slice(0, 2), `${digest}.json`)

  const read = async ({ ref, files }: Carrier): ReturnType<typeof readContents> =>
    readContents(formats(ref.format), await readPooled(pool, files))

  return {
    async of(carrier, paths) {
      if (paths === false || (Array.isArray(paths) && !paths.some(isCandidate))) return NOTHING
      const path = pathOf(carrier.files[0].blob.sha256)
      const kept = await readKept(path)
      if (kept !== undefined) return kept
      return lock.run('read', async () => {
        const meanwhile = await readKept(path)
        if (meanwhile !== undefined) return meanwhile
        const contents = await read(carrier)
        await mkdir(dirname(path), { recursive: true })
        await writeAtomic(path, JSON.stringify({ schema: SCHEMA, ...contents }))
        return contents
      })
    },
  }
}
