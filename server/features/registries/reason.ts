import { fail } from '../../core/errors.ts'
import { UNSEEN } from '../../core/unseen.ts'

// clients print the reason into a terminal
const UNPRINTABLE = new RegExp(`[${UNSEEN}]+`, 'gu')

/** A person's reason, on one line. @throws bad_registry where nothing is in it */
export function readReason(text: string): string {
  const reason = text.replace(UNPRINTABLE, ' ').trim()
  return reason === '' ? fail('bad_registry', { field: 'reason', why: 'it is empty' }) : reason
}
