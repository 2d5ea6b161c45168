type Fault = { readonly code?: unknown; readonly message?: unknown; readonly cause?: unknown }

/** What the machine lacks when something cannot be done: for whoever runs it to mend, and no fault of ours. */
export type Lack = 'disk_full' | 'disk_read_only' | 'too_many_files'

// errno(3); PostgreSQL, appendix A: 53100 disk_full, 53000 insufficient_resources, which is how it says EMFILE and
// ENFILE
const CODES: Readonly<Partial<Record<string, Lack>>> = {
  ENOSPC: 'disk_full',
  EDQUOT: 'disk_full',
  53100: 'disk_full',
  EROFS: 'disk_read_only',
  EMFILE: 'too_many_files',
  ENFILE: 'too_many_files',
  53000: 'too_many_files',
}
const DEEPEST = 5

/** Looks an error and its causes through. @returns undefined when it is about none of these */
export function lackOf(error: unknown): Lack | undefined {
  let fault = error as Fault | null | undefined
  for (let depth = 0; depth < DEEPEST && typeof fault === 'object' && fault !== null; depth++) {
    const known = typeof fault.code === 'string' && Object.hasOwn(CODES, fault.code) ? CODES[fault.code] : undefined
    if (known !== undefined) return known
    // PostgreSQL gives this the code of a right that is missing
    if (fault.code === '42501' && String(fault.message).includes('Read-only file system')) return 'disk_read_only'
    fault = fault.cause as Fault | null | undefined
  }
  return undefined
}
