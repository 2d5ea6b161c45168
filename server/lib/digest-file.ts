import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'

/** A MiB would be allocated for each of many small files. */
const BLOCK = 1 << 18

/** The SHA-256 of a file, in hex; reads it as a stream. */
export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: BLOCK })) hash.update(chunk as Buffer)
  return hash.digest('hex')
}
