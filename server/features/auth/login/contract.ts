import { Type } from '@sinclair/typebox'
import { contract } from '../../../core/contract.ts'
import { OrNull, Time } from '../../../core/schemas.ts'
import { Secret, User } from '../accounts/contract.ts'
import { Scopes } from '../tokens/contract.ts'

const Grace = Type.Object(
  { days_remaining: Type.Integer() },
  { description: 'Only while an admin may still log in without a second factor.' },
)
const Me = Type.Composite([
  Type.Omit(User, ['id']),
  Type.Object({
    id: { ...OrNull(Type.Integer()), description: 'Null for an API token, which is no account.' },
    mfa_grace: Type.Optional(Grace),
    scopes: Type.Optional(Scopes),
    expires_at: Type.Optional(OrNull(Time)),
    expires_soon: Type.Optional(Type.Boolean()),
  }),
])
/** What a finished login answers. */
export const AccessReply = Type.Object({
  access_token: Type.String(),
  token_type: Type.Literal('bearer'),
  expires_in: Type.Integer(),
})

/** Logging in with a password, and the account afterwards. */
export const login = contract({
  'POST /auth/token': {
    summary:
      'Logs in with user name and password: answers an access token, or asks for the second factor or its setup.',
    access: 'public',
    limit: { bucket: 'login', perMinute: 10 },
    body: Type.Object({ username: Type.String({ minLength: 1, maxLength: 200 }), password: Secret }),
    reply: Type.Union([
      AccessReply,
      Type.Object(
        { mfa_required: Type.Literal(true), mfa_token: Type.String(), expires_in: Type.Integer() },
        { description: 'Send it to POST /auth/mfa/authenticate with a code.' },
      ),
      Type.Object(
        { mfa_setup_required: Type.Literal(true), mfa_setup_token: Type.String(), expires_in: Type.Integer() },
        { description: 'Valid for POST /auth/mfa/setup and /auth/mfa/confirm only.' },
      ),
    ]),
    fails: ['bad_password', 'account_inactive', 'directory_unavailable'],
  },
  'GET /auth/me': { summary: "Shows the caller's own account.", access: 'any', scoped: 'upload', reply: Me },
})
