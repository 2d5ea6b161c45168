import type { RawRequest } from '../../../core/contract.ts'
import { expiryOf } from '../tokens/api-tokens.ts'
import type { Entered } from './entry.ts'
import type { AccessToken, From } from '../sessions/sessions.ts'
import type { Account } from '../accounts/store.ts'
import type { ApiToken } from '../tokens/store.ts'

/** Where a request comes from. */
export function fromOf({ clientIp, headers }: RawRequest): From {
  // what a browser says of itself may be anything; it is kept for its owner to recognise
  return { ip: clientIp, agent: (headers['user-agent'] ?? '').replace(/[^\x20-\x7e]/g, '').slice(0, 200) }
}

export function accessView({ token, expiresIn }: AccessToken) {
  return { access_token: token, token_type: 'bearer' as const, expires_in: expiresIn }
}

/** What `POST /auth/token` answers. */
export function enteredView(entered: Entered) {
  if (entered.kind === 'session') return accessView(entered)
  const expires_in = entered.minutes * 60
  return entered.kind === 'challenge'
    ? { mfa_required: true as const, mfa_token: entered.token, expires_in }
    : { mfa_setup_required: true as const, mfa_setup_token: entered.token, expires_in }
}

/** An account as admins see it. */
export function userView(account: Account) {
  const { username, role, full_name, email, active, created_at, last_login, locked_until, mfa_enabled, origin } =
    account
  return {
    username,
    role,
    roles: [role],
    full_name,
    email,
    active,
    mfa_enabled,
    origin,
    created_at: created_at.toISOString(),
    last_login: last_login?.toISOString() ?? null,
    locked_until: locked_until?.toISOString() ?? null,
  }
}

/** The limits of an API token as its maker reads them. */
export function scopesView({ distributions, upload_only }: Pick<ApiToken, 'distributions' | 'upload_only'>) {
  return { distributions: distributions === null ? null : [...distributions], upload_only }
}

/** An API token without the token. */
export function tokenView(token: ApiToken, now: Date) {
  const { id, name, role, created_by, created_at, expires_at, last_used_at } = token
  const expiry = expiryOf(token, now)
  return {
    id,
    name,
    role,
    roles: [role],
    created_by,
    created_at: created_at.toISOString(),
    expires_at: expires_at?.toISOString() ?? null,
    last_used_at: last_used_at?.toISOString() ?? null,
    expired: expiry === 'expired',
    expires_soon: expiry === 'soon',
    scopes: scopesView(token),
  }
}
