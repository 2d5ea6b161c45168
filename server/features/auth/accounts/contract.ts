import { Type } from '@sinclair/typebox'
import { ROLES, type Role } from '../../../core/access.ts'
import { contract } from '../../../core/contract.ts'

const RoleName = Type.Unsafe<Role>(
  Type.Union(
    ROLES.map(role => Type.Literal(role)),
    { enum: [...ROLES] },
  ),
)
const Roles = Type.Array(RoleName, { minItems: 1, maxItems: 1, description: 'The older form of `role`: one entry.' })
// long enough for every password manager, short enough that nobody hashes megabytes
const Secret = Type.String({ minLength: 1, maxLength: 1_000 })
const NewPassword = Type.String({
  maxLength: 1_000,
  description: 'At least 8 characters, an upper-case letter, and a digit or special character.',
})
const Username = Type.String({
  pattern: '^[A-Za-z0-9_@][A-Za-z0-9._@-]{0,63}$',
  description: '1 to 64 letters, digits, ., _, @ or -; not first a . or -.',
})
// no control characters, and none that hide or turn round what is read in lists and logs
const PLAIN = '^[^\\u0000-\\u001f\\u007f-\\u009f\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff]*$'
const PLAIN_WORDS = 'one line of text without invisible characters.'
const FullName = Type.Union([Type.String({ maxLength: 200, pattern: PLAIN, description: PLAIN_WORDS }), Type.Null()])
const Email = Type.Union([
  Type.String({
    maxLength: 320,
    pattern: '^$|^[^\\s@<>()[\\],;:"\\\\]+@[^\\s@<>()[\\],;:"\\\\]+$',
    description: 'one address without a name, such as somebody@example.org.',
  }),
  Type.Null(),
])
const Time = Type.Union([Type.String({ format: 'date-time' }), Type.Null()])
const Text = Type.Union([Type.String(), Type.Null()])
const Done = Type.Object({ message: Type.String() })
const Grace = Type.Object(
  { days_remaining: Type.Integer() },
  { description: 'Only while an admin may still log in without a second factor.' },
)
const Codename = Type.String({ minLength: 1, maxLength: 80 })

const User = Type.Object({
  username: Type.String(),
  role: RoleName,
  roles: Type.Array(RoleName),
  full_name: Text,
  email: Text,
  active: Type.Boolean(),
  created_at: Type.String(),
  last_login: Time,
  locked_until: Time,
  mfa_enabled: Type.Boolean(),
  origin: Type.Union([Type.Literal('local'), Type.Literal('ldap'), Type.Literal('oidc')], {
    description: 'Whose password it is.',
  }),
})
const Scopes = Type.Object({
  distributions: Type.Union([Type.Array(Type.String()), Type.Null()]),
  upload_only: Type.Boolean(),
})
const Me = Type.Composite([
  User,
  Type.Object({
    mfa_grace: Type.Optional(Grace),
    scopes: Type.Optional(Scopes),
    expires_at: Type.Optional(Time),
    expires_soon: Type.Optional(Type.Boolean()),
  }),
])
const Token = Type.Object({
  id: Type.String(),
  name: Type.String(),
  role: RoleName,
  roles: Type.Array(RoleName),
  created_by: Type.String(),
  created_at: Type.String(),
  expires_at: Time,
  last_used_at: Time,
  expired: Type.Boolean(),
  expires_soon: Type.Boolean({ description: 'Within 14 days.' }),
  scopes: Scopes,
})
/** What a finished login answers. */
export const AccessReply = Type.Object({
  access_token: Type.String(),
  token_type: Type.Literal('bearer'),
  expires_in: Type.Integer(),
})

/** Who may come in: logins, passwords, users and API tokens. */
export const auth = contract({
  'POST /auth/token': {
    summary:
      'Exchanges user name and password for an access token, for the question after a second factor, or for the demand to set one up.',
    access: 'public',
    limit: { bucket: 'login', perMinute: 10 },
    body: Type.Object({ username: Type.String({ minLength: 1, maxLength: 200 }), password: Secret }),
    reply: Type.Union([
      AccessReply,
      Type.Object(
        { mfa_required: Type.Literal(true), mfa_token: Type.String(), expires_in: Type.Integer() },
        { description: 'Goes to POST /auth/mfa/authenticate with a code.' },
      ),
      Type.Object(
        { mfa_setup_required: Type.Literal(true), mfa_setup_token: Type.String(), expires_in: Type.Integer() },
        { description: 'Opens POST /auth/mfa/setup and /auth/mfa/confirm, nothing else.' },
      ),
    ]),
    fails: ['bad_password', 'account_inactive', 'directory_unavailable'],
  },
  'GET /auth/me': { summary: "The caller's own profile.", access: 'any', scoped: 'upload', reply: Me },
  'POST /auth/change-password': {
    summary: "Changes the caller's own password and ends the other sessions.",
    access: 'any',
    limit: { bucket: 'change-password', perMinute: 30 },
    body: Type.Object({ current_password: Secret, new_password: NewPassword }),
    reply: Done,
    fails: ['wrong_current_password', 'weak_password', 'no_password', 'no_local_password'],
  },
  'POST /auth/forgot-password': {
    summary: 'Mails a link for a new password to whom it concerns; the answer is the same for everybody.',
    access: 'public',
    limit: { bucket: 'forgot-password', perMinute: 5 },
    body: Type.Object({
      email: Type.Optional(Type.String({ minLength: 1, maxLength: 320 })),
      username: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    }),
    reply: Done,
    fails: ['missing_field'],
  },
  'POST /auth/reset-password': {
    summary: 'Sets a new password with the token of a mailed link, and ends every session.',
    access: 'public',
    limit: { bucket: 'reset-password', perMinute: 10 },
    body: Type.Object({ token: Secret, new_password: NewPassword }),
    reply: Done,
    fails: ['bad_reset_token', 'weak_password'],
  },
  'GET /auth/roles': {
    summary: 'The five roles and what they are for.',
    access: 'public',
    reply: Type.Object({
      roles: Type.Record(
        Type.String(),
        Type.Object({ label: Type.String(), description: Type.String(), color: Type.String() }),
      ),
    }),
  },
  'GET /auth/users': { summary: 'All users.', access: 'admin', reply: Type.Object({ users: Type.Array(User) }) },
  'POST /auth/users': {
    summary: 'Creates a user.',
    access: 'admin',
    status: 201,
    body: Type.Object({
      username: Username,
      password: NewPassword,
      role: Type.Optional(RoleName),
      roles: Type.Optional(Roles),
      full_name: Type.Optional(FullName),
      email: Type.Optional(Email),
    }),
    reply: User,
    fails: ['user_exists', 'weak_password', 'missing_role', 'two_answers'],
  },
  'PATCH /auth/users/{username}': {
    summary: 'Changes a user. Switching one off ends its sessions.',
    access: 'admin',
    body: Type.Object({
      role: Type.Optional(RoleName),
      roles: Type.Optional(Roles),
      full_name: Type.Optional(FullName),
      email: Type.Optional(Email),
      active: Type.Optional(Type.Boolean()),
    }),
    reply: User,
    fails: ['user_not_found', 'own_role', 'own_account', 'last_admin', 'two_answers'],
  },
  'DELETE /auth/users/{username}': {
    summary: 'Deletes a user.',
    access: 'admin',
    reply: Done,
    fails: ['user_not_found', 'own_account', 'last_admin'],
  },
  'POST /auth/users/{username}/reset-password': {
    summary: "Sets another user's password and ends its sessions.",
    access: 'admin',
    body: Type.Object({ new_password: NewPassword }),
    reply: Done,
    fails: ['user_not_found', 'weak_password', 'no_local_password'],
  },
  'GET /auth/api-tokens': {
    summary: 'All API tokens, without the tokens themselves.',
    access: 'admin',
    reply: Type.Object({ tokens: Type.Array(Token) }),
  },
  'POST /auth/api-tokens': {
    summary: 'Creates an API token. It is shown this once.',
    access: 'admin',
    status: 201,
    body: Type.Object({
      name: Type.String({ minLength: 1, maxLength: 100, pattern: PLAIN, description: PLAIN_WORDS }),
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
      expires_at: Time,
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
