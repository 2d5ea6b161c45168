import { createSender } from '../../sender.svelte.ts'
import type { Reply } from '../../wire.ts'

type Imported = Reply<'POST /security/database'>
interface Data {
  /** Take older data than what is loaded. */
  force: boolean
  /** For an updateinfo.xml that does not name its own; else empty. */
  distribution: string
}

/**
 * Vulnerability data on their way. One at a time: the server imports one at a time as well. The file is the body
 * itself, so that gigabytes go from disk to network without being held.
 */
export const imports = createSender<Imported, Data>({
  atOnce: 1,
  setting: 'security.max_database_mb',
  wayOf: ({ file, force, distribution }) => ({
    key: 'POST /security/database',
    query: { filename: file.name, force: force || undefined, distribution },
    cutOff: reached =>
      reached === 'sending'
        ? `The connection ended before ${file.name} was whole. What was loaded before is still there; try again.`
        : `The connection ended while the server read ${file.name}. The list of what is loaded shows whether it took it.`,
  }),
})
