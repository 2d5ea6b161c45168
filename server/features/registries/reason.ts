import { fail } from '../../core/errors.ts'

// eslint-disable-next-line no-control-regex -- clients print the reason into a terminal
const CONTROL = /[\u0000-\u001f\u007f]+/g

/** A person's reason, on one line. @throws bad_registry where nothing is in it */
export function readReason(text: string): string {
  const reason = text.replace(CONTROL, ' ').trim()
  return reason === '' ? fail('bad_registry', { field: 'reason', why: 'it is empty' }) : reason
}
