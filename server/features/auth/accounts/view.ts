import type { Account } from './store.ts'

/** An account as admins see it at this moment: a lock that has run out is none. */
export function userView(account: Account, now: Date) {
  const { id, username, role, full_name, email, active, created_at, last_login, locked_until, mfa_enabled, origin } =
    account
  return {
    id,
    username,
    role,
    roles: [role],
    full_name,
    email,
    active,
    mfa_enabled,
    origin,
    auth_source: origin,
    created_at: created_at.toISOString(),
    last_login: last_login?.toISOString() ?? null,
    locked_until: locked_until !== null && locked_until > now ? locked_until.toISOString() : null,
  }
}
