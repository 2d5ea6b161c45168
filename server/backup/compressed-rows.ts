import { createZstdCompress } from 'node:zlib'

/**
 * Compresses with zstd. The same rows are the same bytes, in whatever pieces they come, so that a target that has them
 * is not sent them again. An end that zstd hears of with the last piece would make another frame: it comes by itself.
 * @throws what `rows` throws
 */
export async function* compressedRows(rows: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const zstd = createZstdCompress()
  async function fill(): Promise<void> {
    for await (const piece of rows)
      if (piece.length > 0)
        await new Promise<void>((done, failed) => {
          zstd.write(piece, error => (error ? failed(error) : done()))
        })
    zstd.end()
  }
  const filled = fill().catch((error: unknown) => void zstd.destroy(error as Error))
  yield* zstd as AsyncIterable<Buffer>
  await filled
}
