import { readFile } from 'node:fs/promises'
import type { DocumentAnswer, DocumentQuestion } from '../features/documents/check.ts'
import { getFormat } from '../formats/index.ts'
import { Malformed } from '../lib/limited.ts'
import { answerJobs } from '../lib/limited-threads.ts'

/**
 * The thread that checks documents. It is a separate program because the parsers of YAML and XML can neither be
 * interrupted nor limited, and functions cannot be passed to a thread.
 */
async function answer({ format, kind: id, path, key }: DocumentQuestion): Promise<DocumentAnswer> {
  const kind = getFormat(format).tree?.documents?.find(one => one.id === id)
  if (kind === undefined) throw new Error(`${format} has no document of the kind ${id}`)
  try {
    return { entries: await kind.check(await readFile(path), key) }
  } catch (error) {
    if (error instanceof Malformed) return { why: error.why }
    throw error
  }
}

answerJobs(answer)
