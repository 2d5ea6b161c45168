import { Type } from '@sinclair/typebox'
import { contract } from '../../../core/contract.ts'
import { Done, OrNull, RoleName, Time } from '../../../core/schemas.ts'
import { PLAIN, PLAIN_RULE, Roles } from '../accounts/contract.ts'

const Codename = Type.String({ minLength: 1, maxLength: 80 })

/** What limits a token beyond its role. */
export const Scopes = Type.Object({
  distributions: Type.Union([Type.Array(Type.String()), Type.Null()]),
  upload_only: Type.Boolean(),
  uploads_per_minute: OrNull(Type.Integer()),
})
const Token = Type.Object({
  id: Type.String(),
  name: Type.String(),
  role: RoleName,
  roles: Type.Array(RoleName),
  created_by: Type.String(),
  created_at: Type.String(),
  expires_at: OrNull(Time),
  last_used_at: OrNull(Time),
  expired: Type.Boolean(),
  expires_soon: Type.Boolean({ description: 'The token ends within 14 days.' }),
  scopes: Scopes,
})

/** API tokens: credentials of machines. */
export const apiTokens = contract({
  'GET /auth/api-tokens': {
    summary: 'Lists all API tokens, without their secrets.',
    access: 'admin',
    reply: Type.Object({ tokens: Type.Array(Token) }),
  },
  'POST /auth/api-tokens': {
    summary: 'Creates an API token. Only this answer shows its secret.',
    access: 'admin',
    status: 201,
    body: Type.Object({
      name: Type.String({ minLength: 1, maxLength: 100, pattern: PLAIN, rule: `${PLAIN_RULE}, 1 to 100 characters` }),
      role: Type.Optional(RoleName),
      roles: Type.Optional(Roles),
      expires_days: Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 36_500 }), Type.Null()])),
      scopes: Type.Optional(
        Type.Object(
          {
            distributions: Type.Optional(
              Type.Union([Type.Array(Codename, { minItems: 1, maxItems: 100 }), Type.Null()]),
            ),
            upload_only: Type.Optional(Type.Boolean()),
            uploads_per_minute: Type.Optional(
              Type.Union([Type.Integer({ minimum: 1, maximum: 100_000 }), Type.Null()], {
                description: 'In place of the limit in the settings, upload_limits.',
              }),
            ),
          },
          { description: 'Limits beyond the role: to these distributions, to uploads.' },
        ),
      ),
    }),
    reply: Type.Object({
      id: Type.String(),
      name: Type.String(),
      role: RoleName,
      roles: Type.Array(RoleName),
      token: Type.String(),
      prefix: Type.Literal('svc_'),
      message: Type.String(),
      expires_at: OrNull(Time),
      scopes: Scopes,
    }),
    fails: ['missing_role', 'two_answers', 'role_above_own', 'unknown_distribution', 'useless_scope'],
  },
  'DELETE /auth/api-tokens/{token_id}': {
    summary: 'Revokes an API token at once.',
    access: 'admin',
    reply: Done,
    fails: ['token_not_found'],
  },
})
