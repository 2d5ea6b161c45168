import { Type } from '@sinclair/typebox'
import { contract } from '../../../core/contract.ts'
import { Done, OrNull, RoleName, Text, Time } from '../../../core/schemas.ts'
import { UNSEEN } from '../../../core/unseen.ts'
import { USERNAME } from '../../../core/access.ts'

/** The older form of `role` in a request. */
export const Roles = Type.Array(RoleName, {
  minItems: 1,
  maxItems: 1,
  description: 'The older form of `role`: one entry.',
})
// long enough for every password manager, and no megabytes to hash
export const Secret = Type.String({ minLength: 1, maxLength: 1_000 })
const NewPassword = Type.String({
  maxLength: 1_000,
  description: 'At least 8 characters, an upper-case letter, and a digit or special character.',
})
const Username = Type.String({
  pattern: USERNAME.source,
  rule: '1 to 64 letters, digits, ., _, @ or -, and not first a . or -',
})
export const PLAIN = `^[^${UNSEEN}]*$`
export const PLAIN_RULE = 'one line of text without invisible characters'
const FullName = Type.Union([
  Type.String({ maxLength: 200, pattern: PLAIN, rule: `${PLAIN_RULE}, at most 200 characters` }),
  Type.Null(),
])
const Email = Type.Union([
  Type.String({
    maxLength: 320,
    pattern: '^$|^[^\\s@<>()[\\],;:"\\\\]+@[^\\s@<>()[\\],;:"\\\\]+$',
    rule: 'one address without a name, such as somebody@example.org, or empty',
  }),
  Type.Null(),
])

const Origin = Type.Union([Type.Literal('local'), Type.Literal('ldap'), Type.Literal('oidc')], {
  description: 'Whose password it is.',
})
/** An account as admins see it. `auth_source` is the older name of `origin`. */
export const User = Type.Object({
  id: Type.Integer(),
  username: Type.String(),
  role: RoleName,
  roles: Type.Array(RoleName),
  full_name: OrNull(Text),
  email: OrNull(Text),
  active: Type.Boolean(),
  created_at: Type.String(),
  last_login: OrNull(Time),
  locked_until: Type.Union([Time, Type.Null()], {
    description: 'When an account that wrong passwords locked opens by itself; null where it is open.',
  }),
  mfa_enabled: Type.Boolean(),
  origin: Origin,
  auth_source: Origin,
})

/** One account, with what only its own page needs. */
const Person = Type.Composite([
  User,
  Type.Object({
    recovery_codes_remaining: Type.Integer({ description: 'Of the second factor; 0 where that is off.' }),
  }),
])

const Ended = Type.Object({ status: Text, username: Text, message: Text })

/** Users and their passwords. */
export const accounts = contract({
  'POST /auth/change-password': {
    summary: "Changes the caller's own password and ends the other sessions.",
    access: 'any',
    limit: { bucket: 'change-password', perMinute: 30 },
    body: Type.Object({ current_password: Secret, new_password: NewPassword }),
    reply: Done,
    fails: ['wrong_current_password', 'weak_password', 'no_password', 'no_local_password'],
  },
  'POST /auth/forgot-password': {
    summary: 'Mails a link for setting a new password. The answer is the same whether or not the account exists.',
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
    summary: 'Sets a new password with the token of a mailed link, and ends every session of the account.',
    access: 'public',
    limit: { bucket: 'reset-password', perMinute: 10 },
    body: Type.Object({ token: Secret, new_password: NewPassword }),
    reply: Done,
    fails: ['bad_reset_token', 'weak_password'],
  },
  'GET /auth/roles': {
    summary: 'Lists the five roles and what each is for.',
    access: 'public',
    reply: Type.Object({
      roles: Type.Record(
        Type.String(),
        Type.Object({ label: Type.String(), description: Type.String(), color: Type.String() }),
      ),
    }),
  },
  'GET /auth/users': { summary: 'Lists all users.', access: 'admin', reply: Type.Object({ users: Type.Array(User) }) },
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
  'GET /auth/users/{username}': {
    summary: 'Shows one user.',
    access: 'admin',
    reply: Person,
    fails: ['user_not_found'],
  },
  'PATCH /auth/users/{username}': {
    summary: 'Changes a user. Deactivating one ends its sessions.',
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
    reply: Ended,
    fails: ['user_not_found', 'own_account', 'last_admin'],
  },
  'POST /auth/users/{username}/reset-password': {
    summary: "Sets another user's password and ends that user's sessions.",
    access: 'admin',
    body: Type.Object({ new_password: NewPassword }),
    reply: Ended,
    fails: ['user_not_found', 'weak_password', 'no_local_password'],
  },
  'POST /auth/users/{username}/unlock': {
    summary: 'Opens an account that wrong passwords locked, before its 15 minutes are over.',
    access: 'admin',
    reply: Ended,
    fails: ['user_not_found'],
  },
})
