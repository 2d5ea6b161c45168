import { answerRead } from '../../server/contents/answer.ts'
import type { Reader } from '../../server/contents/reader.ts'
import { READERS } from '../../server/contents/readers.ts'
import type { ReadAnswer, ReadQuestion } from '../../server/contents/reading.ts'
import { answerJobs } from '../../server/lib/limited-threads.ts'

/** Readers as no test input makes the real ones: one hangs, one takes all memory, one breaks its thread. */
const ways: Readonly<Record<string, () => void>> = {
  hang() {
    for (;;);
  },
  hog() {
    const all: number[][] = []
    for (;;) all.push(new Array<number>(1_000_000).fill(all.length))
  },
  break() {
    setImmediate(() => {
      throw new Error('nobody catches this')
    })
  },
}

const broken = Object.entries(ways).map(([id, read]): Reader => ({
  id,
  wants: ({ path }) => path.endsWith(`/${id}`),
  async read() {
    read()
    return new Promise(() => {})
  },
}))

answerJobs<ReadQuestion, ReadAnswer>(question => answerRead(question, [...READERS, ...broken]))
