import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { RoleName } from '../../core/schemas.ts'
import type { PersonAccess } from './people.ts'
import type { Group, Rule } from './rules.ts'

const Names = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 1_000, uniqueItems: true })
const RoleNames = Type.Array(RoleName, { uniqueItems: true })
const RuleReply = Type.Unsafe<Rule>(
  Type.Object({
    codename: Type.String(),
    private: Type.Boolean(),
    roles: Type.Array(Type.String()),
    users: Type.Array(Type.String()),
    groups: Type.Array(Type.String()),
  }),
)
const GroupReply = Type.Unsafe<Group>(Type.Object({ name: Type.String(), members: Type.Array(Type.String()) }))
const GroupName = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9 ._-]{0,79}$',
  rule: '1 to 80 letters, digits, blanks, ., _ or -, and first a letter or digit',
})

const PersonReply = Type.Unsafe<PersonAccess>(
  Type.Object({
    username: Type.String(),
    groups: Type.Array(Type.String()),
    distributions: Type.Array(
      Type.Object({
        codename: Type.String(),
        format: Type.String(),
        label: Type.String(),
        private: Type.Boolean(),
        sees: Type.Boolean(),
        named: Type.Boolean({ description: 'The rule of the distribution names this user.' }),
        open: Type.Boolean({ description: 'No rule limits who sees it.' }),
        by: Type.Array(
          Type.Object({
            kind: Type.String({ enum: ['everyone', 'admin', 'role', 'user', 'group'] }),
            name: Type.Optional(Type.String()),
          }),
          { description: 'Everything that lets this user see it.' },
        ),
        rule: Type.Object({
          roles: Type.Array(Type.String()),
          groups: Type.Array(Type.String()),
          other_users: Type.Integer({ description: 'How many other users it names.' }),
        }),
      }),
    ),
  }),
)

/** Who may see which distribution. What somebody may not see looks absent to them; admins see everything. */
export const access = contract({
  'GET /access/distributions': {
    summary: 'Lists the access rule of every distribution: who may see it, and whether its tree asks for a credential.',
    access: 'admin',
    reply: Type.Unsafe<{ readonly distributions: readonly Rule[] }>(
      Type.Object({ distributions: Type.Array(RuleReply) }),
    ),
  },
  'PUT /access/distributions/{codename}': {
    summary:
      'Replaces the rule of a distribution: who sees it by role, user and group, and with `private` that its tree asks for an API token. What is not sent is empty; three empty lists open it to everybody.',
    access: 'admin',
    edition: 'scoped access',
    body: Type.Object({
      private: Type.Optional(Type.Boolean()),
      roles: Type.Optional(RoleNames),
      users: Type.Optional(Names),
      groups: Type.Optional(Names),
    }),
    reply: RuleReply,
    fails: ['distribution_not_found', 'group_not_found'],
  },
  'GET /access/groups': {
    summary: 'Lists the user groups that access rules can name.',
    access: 'admin',
    reply: Type.Unsafe<{ readonly groups: readonly Group[] }>(Type.Object({ groups: Type.Array(GroupReply) })),
  },
  'PUT /access/groups/{name}': {
    summary: 'Creates a user group, or replaces its members.',
    access: 'admin',
    edition: 'scoped access',
    params: Type.Object({ name: GroupName }),
    body: Type.Object({ members: Names }),
    reply: GroupReply,
  },
  'DELETE /access/groups/{name}': {
    summary: 'Deletes a user group that no access rule names.',
    access: 'admin',
    edition: 'scoped access',
    params: Type.Object({ name: GroupName }),
    reply: 'none',
    status: 204,
    fails: ['group_not_found', 'group_in_use'],
  },
  'GET /access/people/{username}': {
    summary: 'Shows which distributions a user sees and by what, and the groups of that user.',
    access: 'admin',
    reply: PersonReply,
    fails: ['user_not_found'],
  },
  'PUT /access/people/{username}': {
    summary:
      'Sets which access rules name a user, and the groups of that user, all at once. What is not sent stays as it is.',
    details:
      'A rule without any name is open to everybody, so this neither adds the first name to a rule nor takes away its last.',
    access: 'admin',
    edition: 'scoped access',
    body: Type.Object({ distributions: Type.Optional(Names), groups: Type.Optional(Names) }),
    reply: PersonReply,
    fails: ['user_not_found', 'distribution_not_found', 'group_not_found', 'rule_is_open', 'rule_would_open'],
  },
})
