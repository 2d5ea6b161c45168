import type { Handlers } from '../../../core/contract.ts'
import type { Clock } from '../../../lib/clock.ts'
import { byOf, roleOf } from '../accounts/accounts.ts'
import type { ApiTokens } from './api-tokens.ts'
import type { apiTokens } from './contract.ts'
import { scopesView, tokenView } from './view.ts'

export interface TokenHandlerDeps {
  readonly apiTokens: ApiTokens
  readonly clock: Clock
}

export const tokenHandlers: Handlers<typeof apiTokens, TokenHandlerDeps> = {
  'GET /auth/api-tokens': async ({ apiTokens, clock }) => ({
    tokens: (await apiTokens.list()).map(token => tokenView(token, clock.now())),
  }),
  'POST /auth/api-tokens': async ({ apiTokens }, input) => {
    const { name, expires_days, scopes } = input.body
    const scope = { distributions: scopes?.distributions ?? undefined, uploadOnly: scopes?.upload_only ?? false }
    const uploadsPerMinute = scopes?.uploads_per_minute ?? undefined
    const { token, row } = await apiTokens.create(
      { name, role: roleOf(input.body), expiresDays: expires_days ?? undefined, scope, uploadsPerMinute },
      byOf(input),
    )
    return {
      id: row.id,
      name: row.name,
      role: row.role,
      roles: [row.role],
      token,
      prefix: 'svc_',
      expires_at: row.expires_at?.toISOString() ?? null,
      scopes: scopesView(row),
      message: 'Copy the token now. It is stored as a hash and cannot be shown again.',
    }
  },
  'DELETE /auth/api-tokens/{token_id}': async ({ apiTokens }, input) => {
    const { name } = await apiTokens.revoke(input.params.token_id, byOf(input))
    return { message: `The API token ${name} is revoked.` }
  },
}
