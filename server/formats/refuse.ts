import { fail } from '../core/errors.ts'
import { Malformed } from '../lib/limited.ts'

/** Turns what a reader found wrong into the refusal of this file; everything else passes. @throws bad_package */
export function refuse(filename: string, error: unknown): never {
  if (error instanceof Malformed)
    return fail('bad_package', { filename: filename.slice(0, 200), why: error.why }, error)
  throw error
}
