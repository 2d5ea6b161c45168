import type { Readable } from 'node:stream'

/**
 * The chunks of a body. It stays open where its reader ends early: the answer that says why could not reach a client
 * whose connection is gone.
 */
export const chunksOf = (body: Readable): AsyncIterable<Buffer> =>
  body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>

/** A small body, whole; undefined where it has more than so many bytes. */
export async function readSmall(body: AsyncIterable<Buffer>, mostBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > mostBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
