import { Type } from '@sinclair/typebox'
import { contract } from '../../../core/contract.ts'
import { Done } from '../../../core/schemas.ts'
import { AccessReply } from '../login/contract.ts'

const Code = Type.String({
  pattern: '^[0-9]{6}$',
  rule: 'six digits from the app',
  description: 'Each code works once.',
})
const Password = Type.Object({
  password: Type.String({ minLength: 1, maxLength: 1_000, description: "The caller's own role." }),
})
const Codes = Type.Array(Type.String(), {
  minItems: 8,
  maxItems: 8,
  description: 'Each works once. Only this answer shows them.',
})
// a code is guessed at, so all of these count together
const limit = { bucket: 'mfa', perMinute: 10 } as const

/** The second factor: set up, asked for at logins, renewed, switched off. */
export const mfa = contract({
  'POST /auth/mfa/setup': {
    summary: 'Creates a secret for an authenticator app. It has no effect until its first code is confirmed.',
    access: 'any',
    also: 'mfa_setup_token',
    limit: { bucket: 'mfa-setup', perMinute: 10 },
    reply: Type.Object({
      secret: Type.String(),
      uri: Type.String(),
      qr_code_base64: Type.String({ description: 'A PNG in base64, without data: before it.' }),
    }),
    fails: ['no_account', 'mfa_active'],
  },
  'POST /auth/mfa/confirm': {
    summary: 'Switches the second factor on with a code of the new secret. With a setup token this also logs in.',
    access: 'any',
    also: 'mfa_setup_token',
    limit: { bucket: 'mfa-setup', perMinute: 10 },
    body: Type.Object({ totp_code: Code }),
    reply: Type.Composite([Type.Object({ message: Type.String(), recovery_codes: Codes }), Type.Partial(AccessReply)]),
    fails: ['no_account', 'mfa_active', 'mfa_not_pending', 'wrong_code'],
  },
  'POST /auth/mfa/authenticate': {
    summary: 'Finishes a login: takes the challenge token with a code or a recovery code.',
    access: 'public',
    limit,
    body: Type.Object({
      mfa_token: Type.String({ minLength: 1, maxLength: 4_096 }),
      totp_code: Type.Optional(Code),
      recovery_code: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    }),
    reply: AccessReply,
    fails: ['missing_code', 'bad_challenge', 'bad_code'],
  },
  'POST /auth/mfa/disable': {
    summary: "Switches the caller's second factor off.",
    access: 'any',
    limit,
    body: Password,
    reply: Done,
    fails: ['no_account', 'mfa_not_active', 'wrong_password'],
  },
  'POST /auth/mfa/recovery-codes': {
    summary: 'Creates new recovery codes; all earlier ones stop working.',
    access: 'any',
    limit,
    body: Password,
    reply: Type.Object({ message: Type.String(), recovery_codes: Codes }),
    fails: ['no_account', 'mfa_not_active', 'wrong_password'],
  },
  'GET /auth/mfa/recovery-codes/count': {
    summary: "Counts the caller's unused recovery codes.",
    access: 'any',
    reply: Type.Object({ remaining: Type.Integer() }),
  },
  'GET /auth/mfa/status': {
    summary: "Shows whether the caller's second factor is on, and whether the policy requires it.",
    access: 'any',
    reply: Type.Object({
      enabled: Type.Boolean(),
      pending: Type.Boolean({ description: 'Setup has begun: the first code is still to be confirmed.' }),
      recovery_codes_remaining: Type.Integer(),
      required: Type.Boolean({ description: 'The policy requires it for this account.' }),
    }),
  },
  'DELETE /auth/users/{username}/mfa': {
    summary: "Removes another user's second factor, for a user who lost it.",
    access: 'admin',
    reply: Done,
    fails: ['user_not_found', 'own_mfa', 'mfa_not_active'],
  },
})
