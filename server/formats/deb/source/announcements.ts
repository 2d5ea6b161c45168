import { readFile } from 'node:fs/promises'
import type { Announcements } from '../../announcements.ts'
import { refuse } from '../../refuse.ts'
import { MAX_CHANGES, parseChanges } from './changes.ts'
import { MAX_DSC, parseDsc } from './dsc.ts'
import { isPlainName, mustMatch } from './file-list.ts'
import { isDsc, isRecord } from './inspect.ts'

function trying<T>(filename: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    return refuse(filename, error)
  }
}

/** Debian's .changes: what dput and dupload send. */
export const announcements: Announcements = {
  ending: '.changes',
  limitBytes: MAX_CHANGES,
  read: (bytes, filename) =>
    trying(filename, () => {
      const { source, sourceVersion, distribution, files, text, document } = parseChanges(bytes)
      return {
        source,
        sourceVersion,
        target: distribution,
        files,
        ...(document === undefined ? {} : { clearsigned: { document, text } }),
      }
    }),
  async partsOf({ head, path, blob, filename }) {
    // the first lines of a .buildinfo look like a .dsc of format 1.0
    if (isRecord(filename) || !isDsc(head) || blob.size > MAX_DSC) return []
    const bytes = await readFile(path)
    return trying(filename, () => parseDsc(bytes).files)
  },
  isRecord,
  isPlainName,
  compare: (announced, blob) => trying(announced.name, () => mustMatch(announced, blob)),
}
