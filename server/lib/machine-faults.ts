type Fault = { readonly code?: unknown; readonly message?: unknown; readonly cause?: unknown }

/** A fault of the machine that the operator has to repair. */
export type MachineFault = 'disk_full' | 'disk_read_only' | 'too_many_files'

// errno(3); PostgreSQL, appendix A: 53100 disk_full, 53000 insufficient_resources, its code for EMFILE and ENFILE
const CODES: Readonly<Partial<Record<string, MachineFault>>> = {
  ENOSPC: 'disk_full',
  EDQUOT: 'disk_full',
  53100: 'disk_full',
  EROFS: 'disk_read_only',
  EMFILE: 'too_many_files',
  ENFILE: 'too_many_files',
  53000: 'too_many_files',
}
const DEEPEST = 5

/** The machine fault behind an error: searches the error and its causes. @returns undefined when there is none */
export function machineFaultOf(error: unknown): MachineFault | undefined {
  let fault = error as Fault | null | undefined
  for (let depth = 0; depth < DEEPEST && typeof fault === 'object' && fault !== null; depth++) {
    const known = typeof fault.code === 'string' && Object.hasOwn(CODES, fault.code) ? CODES[fault.code] : undefined
    if (known !== undefined) return known
    // PostgreSQL reports this with the code for a missing right
    if (fault.code === '42501' && String(fault.message).includes('Read-only file system')) return 'disk_read_only'
    fault = fault.cause as Fault | null | undefined
  }
  return undefined
}
