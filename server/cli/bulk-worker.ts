import { answerFiles, type FileAnswer, type FilesQuestion } from '../imports/bulk/read-files.ts'
import { answerJobs } from '../lib/limited-threads.ts'

/**
 * The threads that copy and read the packages of a tree. It is a separate program because functions cannot be passed to
 * a thread.
 */
answerJobs<FilesQuestion, readonly FileAnswer[]>(question => answerFiles(question))
