import { HEAD_BYTES } from './open-file.ts'

/** The first 512 bytes of a stream or more, and all of it; undefined for an empty one, which is then closed. */
export async function peek(
  chunks: AsyncIterable<Buffer>,
): Promise<{ readonly head: Buffer; readonly chunks: AsyncGenerator<Buffer> } | undefined> {
  const iterator = chunks[Symbol.asyncIterator]()
  const first: Buffer[] = []
  let bytes = 0
  while (bytes < HEAD_BYTES) {
    const next = await iterator.next()
    if (next.done === true) break
    first.push(next.value)
    bytes += next.value.length
  }
  if (bytes === 0) return undefined
  const head = first.length === 1 && first[0] !== undefined ? first[0] : Buffer.concat(first)
  async function* all(): AsyncGenerator<Buffer> {
    yield head
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
  }
  const whole = all()
  return {
    head,
    // a generator that was never begun runs none of its ends
    chunks: Object.assign(whole, {
      return: async (): Promise<IteratorResult<Buffer>> => {
        await iterator.return?.()
        return { done: true, value: undefined }
      },
    }),
  }
}
