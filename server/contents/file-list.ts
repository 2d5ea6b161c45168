import { createHash } from 'node:crypto'
import { isRefusal } from '../core/errors.ts'
import type { InnerStream } from '../formats/format.ts'
import { Malformed } from '../lib/limited.ts'
import type { EntryFacts, OpenFile, OtherMember, Room, Unopened } from './reader.ts'
import { Spent } from './room.ts'
import { filesOf, PAYLOADS } from './walk.ts'

/** A file as installing the package puts it there. */
export interface PackagedFile extends Omit<EntryFacts, 'type'> {
  readonly type: EntryFacts['type']
  /** Of a file: bytes. */
  readonly size?: number
  /** Lower-case hex; absent for what is no file, and for a file that could not be read. */
  readonly sha256?: string
  /** Why the file could not be read, in one sentence: only its size is known then. */
  readonly unread?: string
}

/** The files of a package by their paths, without `/` before them. */
export interface FileList {
  readonly files: ReadonlyMap<string, PackagedFile>
  /** Why the list ends before the package does, in one sentence. */
  readonly cut?: string
}

const CHUNK = 1024 * 1024

async function sha256Of(file: OpenFile): Promise<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < file.size; at += CHUNK) hash.update(await file.read(at, Math.min(CHUNK, file.size - at)))
  return hash.digest('hex')
}

async function listed(file: OpenFile | OtherMember | Unopened, room: Room): Promise<[string, PackagedFile]> {
  if ('other' in file) {
    room.pass()
    return [file.other, { type: 'directory', ...file.entry }]
  }
  if ('why' in file) return [file.path, { type: 'file', size: file.size, unread: file.why }]
  return [file.path, { type: 'file', ...file.entry, size: file.size, sha256: await sha256Of(room.enter(file)) }]
}

/**
 * Lists what a package installs, with the digest of each file.
 * @throws the signal's reason; faults of the machine
 */
export async function listFiles(
  streams: AsyncIterable<InnerStream>,
  { room, signal }: { readonly room: Room; readonly signal: AbortSignal },
): Promise<FileList> {
  const files = new Map<string, PackagedFile>()
  try {
    for await (const inner of streams) {
      if (!PAYLOADS.has(inner.name)) continue
      for await (const file of filesOf(inner, room)) {
        signal.throwIfAborted()
        const [path, one] = await listed(file, room)
        if (path !== '') files.set(path, 'why' in file ? one : { ...one, ...inner.files?.get(path) })
      }
    }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof Spent) return { files, cut: error.why }
    if (error instanceof Malformed) return { files, cut: `The payload could not be read to its end: ${error.why}.` }
    if (isRefusal(error, 'bad_package'))
      return { files, cut: `The package could not be read to its end. ${error.message}` }
    throw error
  }
  return { files }
}
