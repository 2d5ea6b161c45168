import { tmpdir } from 'node:os'
import type { Unpacker } from '../../server/contents/reader.ts'
import { createRoom } from '../../server/contents/room.ts'
import { Malformed } from '../../server/lib/limited.ts'
import { openFile } from './open-file.ts'

/** What an unpacker finds in a file: each path with its text, or why it was not opened. */
export async function unpackedIn(unpacker: Unpacker, path: string, bytes: Buffer): Promise<[string, string][]> {
  const file = openFile(path, bytes)
  const found: [string, string][] = []
  if (!unpacker.wants(file)) return found
  try {
    for await (const one of unpacker.files(file, createRoom(tmpdir())))
      if ('why' in one) found.push([one.path, one.why])
      else if (!('other' in one)) found.push([one.path, (await one.whole(2 ** 26)).toString('latin1')])
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    found.push([path, error.why])
  }
  return found
}
