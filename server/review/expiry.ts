import { fail } from '../core/errors.ts'
import type { Iso } from '../core/identity.ts'

const DAY_MS = 86_400_000
// a date without a time means until the end of that day, wherever the reader is
const DATE_ONLY = /^\d{4}-\d\d-\d\d$/

/**
 * Until when an acceptance stands, as a moment or as days from now; undefined without an end.
 * @throws bad_expiry for both at once, and for a moment that is over
 */
export function readExpiry(
  { expires_at: at, expires_days: days }: { readonly expires_at?: string | null; readonly expires_days?: number },
  now: Date,
): Iso | undefined {
  if (at === undefined || at === null)
    return days === undefined ? undefined : new Date(now.getTime() + days * DAY_MS).toISOString()
  if (days !== undefined) fail('bad_expiry', { field: 'expires_days', why: 'send either expires_at or expires_days' })
  const end = new Date(DATE_ONLY.test(at) ? `${at}T23:59:59.999Z` : at)
  if (end.getTime() <= now.getTime()) fail('bad_expiry', { field: 'expires_at', why: 'it has to be in the future' })
  return end.toISOString()
}
