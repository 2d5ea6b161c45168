import type { AccessToken } from '../sessions/sessions.ts'
import type { Entered } from './entry.ts'

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
