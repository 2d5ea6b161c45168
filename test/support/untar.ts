import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { createGunzip } from 'node:zlib'
import tar from 'tar-stream'

/** The members of a gzipped tar, by their names. */
export async function untar(bytes: Buffer): Promise<ReadonlyMap<string, Buffer>> {
  const members = new Map<string, Buffer>()
  const extract = tar.extract()
  Readable.from([bytes]).pipe(createGunzip()).pipe(extract)
  for await (const entry of extract) members.set(entry.header.name, await buffer(entry))
  return members
}
