import { constants, type Dirent } from 'node:fs'
import { open, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import type { MediumFile } from '../../server/machine/protocol.ts'
import { escaped, isPlainName } from './escaped.ts'
import { HEAD_BYTES, mediumKind } from './medium-kinds.ts'

/** Where looking at a stick ends: whoever made it may have wanted it never to. */
export const BOUNDS = { entries: 20_000, files: 500, depth: 4, ms: 20_000 }

/** What lies on a stick that is of use here, the newest first. */
export interface Catalogue {
  readonly files: readonly MediumFile[]
  /** What was not looked at, and why; empty: everything was. */
  readonly said: string
}

/** The first bytes, size and time of a plain file that this process may read. @throws of the disk; ELOOP for a link */
async function look(path: string): Promise<{ readonly head: Buffer; readonly size: number; readonly at: Date }> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const { size, mtime } = await file.stat()
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return { head: buffer.subarray(0, bytesRead), size, at: mtime }
  } finally {
    await file.close()
  }
}

/**
 * Lists what is of use on a stick: plain files by their names and first bytes. Links are never followed, names with
 * characters that no file of ours has are counted and not listed, and it ends at the bounds.
 */
export async function catalogue(
  root: string,
  bounds = BOUNDS,
  now = (): number => performance.now(),
): Promise<Catalogue> {
  const files: MediumFile[] = []
  const strange: string[] = []
  const unreadable: string[] = []
  const end = now() + bounds.ms
  let entries = 0
  let stopped: string | undefined
  let strangeCount = 0
  let unreadableCount = 0
  let linkCount = 0

  async function enter(folder: string, depth: number): Promise<void> {
    const deeper: string[] = []
    const handle = await opendir(join(root, folder), { encoding: 'buffer' as BufferEncoding, bufferSize: 256 })
    for await (const entry of handle as AsyncIterable<Dirent<Buffer | string>>) {
      if (++entries > bounds.entries) stopped ??= `the first ${bounds.entries} files and folders`
      else if (now() > end) stopped ??= `what could be read in ${bounds.ms / 1000} seconds`
      if (stopped !== undefined) return
      const name = Buffer.from(entry.name)
      if (!isPlainName(name)) {
        strangeCount++
        if (strange.length < 3) strange.push(escaped(name))
      } else if (entry.isDirectory()) {
        if (depth > 0) deeper.push(`${folder}${name.toString()}/`)
      } else if (entry.isSymbolicLink()) linkCount++
      else if (entry.isFile()) await add(`${folder}${name.toString()}`)
      if (files.length >= bounds.files) {
        stopped = `the first ${bounds.files} files that are of use here`
        return
      }
    }
    for (const below of deeper) if (stopped === undefined) await tried(below, () => enter(below, depth - 1))
  }
  async function add(path: string): Promise<void> {
    let seen: Awaited<ReturnType<typeof look>> | undefined
    const need = async () => (seen ??= await look(join(root, path)))
    await tried(path, async () => {
      const kind = await mediumKind(path, async () => (await need()).head)
      if (kind === undefined) return
      const { size, at } = await need()
      files.push({ path, kind, size, modified_at: Number.isNaN(at.getTime()) ? '' : at.toISOString() })
    })
  }
  /** One that cannot be read stops nothing. */
  async function tried(path: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch {
      unreadableCount++
      if (unreadable.length < 3) unreadable.push(escaped(Buffer.from(path)))
    }
  }

  await tried('/', () => enter('', bounds.depth))
  files.sort((a, b) =>
    a.modified_at < b.modified_at ? 1 : a.modified_at > b.modified_at ? -1 : a.path < b.path ? -1 : 1,
  )
  const and = (names: readonly string[], all: number): string => `${names.join(', ')}${all > names.length ? ', …' : ''}`
  const said = [
    ...(stopped === undefined ? [] : [`Only ${stopped} were looked at.`]),
    ...(unreadableCount === 0
      ? []
      : [
          unreadableCount === 1
            ? `1 file cannot be read: ${and(unreadable, 1)}.`
            : `${unreadableCount} files cannot be read: ${and(unreadable, unreadableCount)}.`,
        ]),
    ...(strangeCount === 0
      ? []
      : [
          strangeCount === 1
            ? `1 name has characters that are not taken: ${and(strange, 1)}.`
            : `${strangeCount} names have characters that are not taken: ${and(strange, strangeCount)}.`,
        ]),
    ...(linkCount === 0 ? [] : [linkCount === 1 ? '1 link is not followed.' : `${linkCount} links are not followed.`]),
  ]
  return { files, said: said.join(' ') }
}
