import { Type } from '@sinclair/typebox'
import { ROLES, type Role } from '../../core/access.ts'
import { contract } from '../../core/contract.ts'

const RoleName = Type.Unsafe<Role>(Type.Union(ROLES.map(role => Type.Literal(role)), { enum: [...ROLES] }))
const Roles = Type.Array(RoleName, { minItems: 1, maxItems: 1, description: 'The older form of `role`: one entry.' })
// long enough for every password manager, short enough that nobody hashes megabytes
const Secret = Type.String({ minLength: 1, maxLength: 1_000 })
const NewPassword = Type.String({ maxLength: 1_000, description: 'At least 8 characters, an upper-case letter, and a digit or special character.' })
const Username = Type.String({ pattern: '^[A-Za-z0-9_@][A-Za-z0-9._@-]{0,63}$', description: '1 to 64 letters, digits, ., _, @ or -; not first a . or -.' })
const FullName = Type.Union([Type.String({ maxLength: 200 }), Type.Null()])
const Email = Type.Union([Type.String({ maxLength: 320, pattern: '^$|^[^\\s@]+@[^\\s@]+$' }), Type.Null()])
const Time = Type.Union([Type.String({ format: 'date-time' }), Type.Null()])
const Text = Type.Union([Type.String(), Type.Null()])
const Done = Type.Object({ message: Type.String() })

const User = Type.Object({
  username: Type.String(), role: RoleName, roles: Type.Array(RoleName), full_name: Text, email: Text,
  active: Type.Boolean(), created_at: Type.String(), last_login: Time, locked_until: Time, mfa_enabled: Type.Boolean(),
})
const Token = Type.Object({
  id: Type.String(), name: Type.String(), role: RoleName, roles: Type.Array(RoleName), created_by: Type.String(), created_at: Type.String(),
  expires_at: Time, last_used_at: Time, expired: Type.Boolean(),
})

/** Who may come in: logins, users and API tokens. */
export const auth = contract({
  'POST /auth/token': {
    summary: 'Exchanges user name and password for an access token.', access: 'public', limit: { bucket: 'login', perMinute: 10 },
    body: Type.Object({ username: Type.String({ minLength: 1, maxLength: 200 }), password: Secret }),
    reply: Type.Object({ access_token: Type.String(), token_type: Type.Literal('bearer'), expires_in: Type.Integer() }),
    fails: ['bad_password'],
  },
  'GET /auth/me': { summary: 'The caller\'s own profile.', access: 'any', reply: User },
  'POST /auth/change-password': {
    summary: 'Changes the caller\'s own password and ends the other sessions.', access: 'any', limit: { bucket: 'change-password', perMinute: 30 },
    body: Type.Object({ current_password: Secret, new_password: NewPassword }),
    reply: Done,
    fails: ['wrong_current_password', 'weak_password', 'no_password'],
  },
  'GET /auth/roles': {
    summary: 'The five roles and what they are for.', access: 'public',
    reply: Type.Object({ roles: Type.Record(Type.String(), Type.Object({ label: Type.String(), description: Type.String(), color: Type.String() })) }),
  },
  'GET /auth/users': { summary: 'All users.', access: 'admin', reply: Type.Object({ users: Type.Array(User) }) },
  'POST /auth/users': {
    summary: 'Creates a user.', access: 'admin', status: 201,
    body: Type.Object({ username: Username, password: NewPassword, role: Type.Optional(RoleName), roles: Type.Optional(Roles), full_name: Type.Optional(FullName), email: Type.Optional(Email) }),
    reply: User, fails: ['user_exists', 'weak_password', 'missing_role'],
  },
  'PATCH /auth/users/{username}': {
    summary: 'Changes a user. Switching one off ends its sessions.', access: 'admin',
    body: Type.Object({ role: Type.Optional(RoleName), roles: Type.Optional(Roles), full_name: Type.Optional(FullName), email: Type.Optional(Email), active: Type.Optional(Type.Boolean()) }),
    reply: User, fails: ['user_not_found', 'own_role', 'own_account', 'last_admin'],
  },
  'DELETE /auth/users/{username}': { summary: 'Deletes a user.', access: 'admin', reply: Done, fails: ['user_not_found', 'own_account', 'last_admin'] },
  'POST /auth/users/{username}/reset-password': {
    summary: 'Sets another user\'s password and ends its sessions.', access: 'admin', body: Type.Object({ new_password: NewPassword }), reply: Done, fails: ['user_not_found', 'weak_password'],
  },
  'GET /auth/api-tokens': { summary: 'All API tokens, without the tokens themselves.', access: 'admin', reply: Type.Object({ tokens: Type.Array(Token) }) },
  'POST /auth/api-tokens': {
    summary: 'Creates an API token. It is shown this once.', access: 'admin', status: 201,
    body: Type.Object({
      name: Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000-\\u001f]+$' }), role: Type.Optional(RoleName), roles: Type.Optional(Roles),
      expires_days: Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 36_500 }), Type.Null()])),
    }),
    reply: Type.Object({ id: Type.String(), name: Type.String(), role: RoleName, roles: Type.Array(RoleName), token: Type.String(), prefix: Type.Literal('svc_'), message: Type.String(), expires_at: Time }),
    fails: ['missing_role'],
  },
  'DELETE /auth/api-tokens/{token_id}': { summary: 'Revokes an API token at once.', access: 'admin', reply: Done, fails: ['token_not_found'] },
})
