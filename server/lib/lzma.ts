import { malformed, printBytes } from './limited.ts'
import type { Packed } from './packed.ts'

/** Properties, size of the dictionary, size unpacked. Source: the LZMA SDK, lzma-specification.txt. */
const HEADER = 13
/** As for xz: that of `lzma -9` is half of it. A header may ask for 4 GiB, and a decoder would allocate them. */
const MAX_DICTIONARY = 64 * 2 ** 20

/** @throws Malformed */
function checkHeader(header: Buffer, what: string): void {
  if (header.length < HEADER) malformed(`${what} is damaged or cut off (it is shorter than the header of lzma)`)
  if ((header[0] ?? 255) >= 9 * 5 * 5) malformed(`${what} does not begin as an lzma stream does`)
  const dictionary = header.readUInt32LE(1)
  if (dictionary > MAX_DICTIONARY)
    malformed(
      `${what} needs a dictionary of ${printBytes(dictionary)}; at most ${printBytes(MAX_DICTIONARY)} are allowed`,
    )
}

async function headerOf(chunks: AsyncGenerator<Buffer>): Promise<Buffer> {
  let header: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    header = Buffer.concat([header, chunk.subarray(0, HEADER)])
    if (header.length >= HEADER) break
  }
  return header
}

/** Decodes as far as the stream goes. @throws Malformed for damage; what the source throws */
async function* decode(source: AsyncGenerator<Buffer>, what: string): AsyncGenerator<Buffer> {
  const { decompressStream } = await import('@napi-rs/lzma/lzma')
  // the decoder replaces an error of its input by its own, so the first one is kept here
  const failed: { by?: unknown } = {}
  const input = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await source.next()
          if (done === true) controller.close()
          else controller.enqueue(value)
        } catch (error) {
          failed.by ??= error
          controller.error(error)
        }
      },
    },
    { highWaterMark: 0 },
  )
  const reader = decompressStream(input).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      // typed as Buffer, but it is a plain Uint8Array
      yield Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    }
    for await (const rest of source) void rest // whoever digests the source sees all of it
  } catch (error) {
    if (failed.by !== undefined) throw failed.by
    malformed(`${what} is damaged or cut off (${error instanceof Error ? error.message : String(error)})`, error)
  } finally {
    await reader.cancel().catch(() => {})
    await source.return(undefined)
  }
}

/**
 * Unpacks one stream of the format before xz (`.lzma`, LZMA_alone), which old RPMs carry. It has no checksum: its
 * package has. Where the stream ends its decoder does not say; what follows it is read by rpm as little as here.
 * @throws Malformed for a damaged or cut-off stream, and for a dictionary that is too large
 */
export async function* unlzma(packed: Packed): AsyncGenerator<Buffer> {
  checkHeader(await headerOf(packed.chunks()), packed.what)
  yield* decode(packed.chunks(), packed.what)
}
