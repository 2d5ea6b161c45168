import { hasPassed, remainingDays } from '../../../core/remaining-days.ts'
import type { Db } from '../../../db/db.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Settings } from '../../../settings/store.ts'
import type { Account } from '../accounts/store.ts'

/** What the admin policy asks of an account: nothing, or a second factor, in the grace period or after it. */
export type MfaDemand =
  { readonly kind: 'none' } | { readonly kind: 'grace'; readonly daysRemaining: number } | { readonly kind: 'over' }

export interface MfaPolicy {
  /** Whether this account must have a second factor. */
  demands(account: Pick<Account, 'role'>): boolean
  /** The state now; starts no clock. */
  of(account: Account): MfaDemand
  /** The state at a login: the first login of an admin without a second factor starts the clock, once. */
  atLogin(account: Account): Promise<MfaDemand>
}

const DAY_MS = 86_400_000

/** `mfa_policy.*`: admins need a second factor, and have some days from their first login on to set it up. */
export function createMfaPolicy({
  db,
  settings,
  clock,
}: {
  readonly db: Db
  readonly settings: Pick<Settings, 'now'>
  readonly clock: Clock
}): MfaPolicy {
  const demands = ({ role }: Pick<Account, 'role'>): boolean =>
    settings.now().mfa_policy.enforce_admin_mfa && role === 'admin'
  const concerns = (account: Account): boolean => demands(account) && !account.mfa_enabled

  function demand(from: Date): MfaDemand {
    const end = new Date(from.getTime() + settings.now().mfa_policy.grace_period_days * DAY_MS)
    const now = clock.now()
    return hasPassed(end, now) ? { kind: 'over' } : { kind: 'grace', daysRemaining: remainingDays(end, now) }
  }

  return {
    demands,
    of: account =>
      concerns(account) && account.mfa_grace_from !== null ? demand(account.mfa_grace_from) : { kind: 'none' },
    async atLogin(account) {
      if (!concerns(account)) return { kind: 'none' }
      const row = await db.first<{ mfa_grace_from: Date }>(
        'update account set mfa_grace_from = coalesce(mfa_grace_from, $2) where username = $1 returning mfa_grace_from',
        [account.username, clock.now()],
      )
      return row === undefined ? { kind: 'none' } : demand(row.mfa_grace_from)
    },
  }
}
