import { expiryOf } from './api-tokens.ts'
import type { ApiToken } from './store.ts'

/** The limits of an API token as its maker reads them. */
export function scopesView({
  distributions,
  upload_only,
  uploads_per_minute,
}: Pick<ApiToken, 'distributions' | 'upload_only' | 'uploads_per_minute'>) {
  return { distributions: distributions === null ? null : [...distributions], upload_only, uploads_per_minute }
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
