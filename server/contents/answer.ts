import type { SpooledFile } from '../files/spool.ts'
import { readCopies } from '../files/unpacked.ts'
import { getFormat } from '../formats/index.ts'
import { readContents } from './read.ts'
import { READERS } from './readers.ts'
import type { ReadAnswer, ReadQuestion, SentFile } from './reading.ts'

const received = ({ bytes, beside, ...file }: SentFile): SpooledFile => ({
  ...file,
  head: new Uint8Array(),
  ...(bytes === undefined ? {} : { bytes: Buffer.from(bytes.buffer) }),
  ...(beside === undefined ? {} : { beside: beside.map(received) }),
  discard: () => Promise.resolve(),
})

// whoever asks ends the thread
const never = new AbortController().signal

/** Reads a package in a thread of its own. */
export async function answerRead(
  { format, file, copies, incoming, limits, progress, skip, end }: ReadQuestion,
  readers = READERS,
): Promise<ReadAnswer> {
  try {
    const contents = await readContents(
      { format: getFormat(format), file: received(file), unpacked: readCopies(copies) },
      {
        incoming,
        limits,
        readers,
        signal: never,
        tries: { skip, end, at: n => void Atomics.store(progress, 1, n) },
        onStep: () => void Atomics.add(progress, 0, 1),
      },
    )
    return { contents }
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    return { message: String(message), ...(typeof code === 'string' ? { code } : {}) }
  }
}
