import { answerRead } from '../contents/answer.ts'
import type { ReadAnswer, ReadQuestion } from '../contents/reading.ts'
import { answerJobs } from '../lib/limited-threads.ts'

/**
 * The threads that read what lies inside packages: minutes of work for a large one, in readers that hostile files are
 * made for. It is a separate program because functions cannot be passed to a thread.
 */
answerJobs<ReadQuestion, ReadAnswer>(question => answerRead(question))
