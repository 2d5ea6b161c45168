import { answerJobs } from '../lib/limited-threads.ts'
import { readIndexFile } from '../registries/remote/read-index.ts'

/**
 * The thread that reads indexes of registries. It is a separate program because a large index holds a thread for
 * seconds, and functions cannot be passed to a thread.
 */
answerJobs(readIndexFile)
