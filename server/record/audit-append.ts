import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fsyncFolder } from '../lib/atomic.ts'
import { readAt } from '../lib/read-at.ts'
import { auditFiles, lineHash, sizeOf, type Tail } from './audit-file.ts'

// The lock of the database says whose turn it is, but a process may lose it and not know: it stood still, or PostgreSQL
// went away, between its question and its write. So that the chain has one next line all the same, who appends first
// claims the end that it knows: a file with the lines and their place, whose name is the hash of that end, made by a
// link, which one process alone can make. Whoever finds a claim writes its lines at their place; the same bytes twice
// are no harm.

const CLAIM = /^\.after-[0-9a-f]{64}$/
const DRAFT = '.claim-'

/** Where some lines go. */
interface Place {
  readonly file: string
  /** Bytes before them in the file. */
  readonly at: number
  readonly text: string
  /** The file that ends the chain before them, where it is another one. */
  readonly behind?: { readonly file: string; readonly size: number }
}

const nameOf = ({ hash }: Pick<Tail, 'hash'>): string => `.after-${hash}`

const sizeIn = async (folder: string, file: string): Promise<number> => (await sizeOf(join(folder, file))) ?? 0

/** Writes them at their place, makes them durable, also the name of a new file. */
async function write(folder: string, { file, at, text }: Place): Promise<void> {
  const path = join(folder, file)
  const isNew = at === 0
  if (isNew) await (await open(path, 'a', 0o640)).close()
  const handle = await open(path, 'r+') // what is opened to append ignores the place
  try {
    const bytes = Buffer.from(text)
    for (let done = 0; done < bytes.length;)
      done += (await handle.write(bytes, done, bytes.length - done, at + done)).bytesWritten
    await handle.sync()
    if (isNew) await fsyncFolder(folder)
  } finally {
    await handle.close()
  }
}

/** Whether nothing else follows the end before them: their file has them, a beginning of them, or nothing there. */
async function isOpen(folder: string, { file, at, text, behind }: Place): Promise<boolean> {
  const newest = (await auditFiles(folder)).at(-1)
  if (newest !== undefined && newest > file) return false
  if (behind !== undefined && (await sizeIn(folder, behind.file)) !== behind.size) return false
  const size = await sizeIn(folder, file)
  if (size < at) return false
  const bytes = Buffer.from(text)
  if (size - at > bytes.length) return false
  if (size === at) return true
  const handle = await open(join(folder, file), 'r')
  try {
    return (await readAt(handle, at, size - at)).equals(bytes.subarray(0, size - at))
  } finally {
    await handle.close()
  }
}

/** A claim as it lies on disk; undefined when it is gone, or was torn by a power cut. */
async function readClaim(path: string): Promise<Place | undefined> {
  try {
    const [digest = '', ...rest] = (await readFile(path, 'utf8')).split('\n')
    const body = rest.join('\n')
    return lineHash(body) === digest ? (JSON.parse(body) as Place) : undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Brings to its end what another process began and may not end. Call it before the end of the chain is read. */
export async function finishClaims(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => [] as string[])
  // a draft of a process that is gone; one that stood still meanwhile fails, and its rows are still owed
  for (const name of names.filter(one => one.startsWith(DRAFT))) await rm(join(folder, name), { force: true })
  for (const name of names.filter(one => CLAIM.test(one))) {
    const path = join(folder, name)
    const place = await readClaim(path)
    if (place !== undefined && (await isOpen(folder, place))) await write(folder, place)
    await rm(path, { force: true })
  }
}

/**
 * Appends whole lines behind the end that the caller knows, durably.
 * @returns false where the chain has another end by now: nothing was written, and it is to be read again
 */
export async function appendAfter(folder: string, tail: Tail, file: string, text: string): Promise<boolean> {
  await mkdir(folder, { recursive: true })
  const isSame = file === tail.file
  const behind = isSame || tail.file === undefined ? {} : { behind: { file: tail.file, size: tail.size } }
  const place: Place = { file, at: isSame ? tail.size : 0, text, ...behind }
  const body = JSON.stringify(place)
  const draft = join(folder, `${DRAFT}${randomUUID()}`)
  const claim = join(folder, nameOf(tail))
  try {
    await writeFile(draft, `${lineHash(body)}\n${body}`, { mode: 0o640 })
    await link(draft, claim)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
  // only now nobody else can go on from this end; somebody may have done so before
  const isEnd = (await sizeIn(folder, file)) === place.at && (await isOpen(folder, place))
  if (isEnd) await write(folder, place)
  await rm(claim, { force: true })
  return isEnd
}
