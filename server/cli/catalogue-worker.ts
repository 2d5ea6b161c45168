import { getFormat } from '../formats/index.ts'
import { answerRead } from '../imports/catalogue/read-thread.ts'

/**
 * A thread that reads the indexes of an import source: seconds of work, in parsers that meet foreign text. It is a
 * separate program because functions cannot be passed to a thread.
 */
await answerRead(format => {
  const { upstream, label } = getFormat(format)
  if (upstream === undefined) throw new Error(`no repositories of ${label} are read`)
  return upstream
})
