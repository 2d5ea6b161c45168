import type { Principal, Role } from '../../core/access.ts'
import { fail } from '../../core/errors.ts'
import type { FormatId } from '../../core/identity.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import { isOpen, listGroups, listRules, opens, type Group, type Opening, type Rule } from './rules.ts'

/** One user as the access rules see that user. */
export interface PersonAccess {
  readonly username: string
  readonly groups: readonly string[]
  readonly distributions: readonly {
    readonly codename: string
    readonly format: FormatId
    readonly label: string
    readonly private: boolean
    readonly sees: boolean
    readonly named: boolean
    readonly open: boolean
    readonly by: readonly Opening[]
    /** The roles and groups of its rule, so that a change can be shown before it is made. */
    readonly rule: Pick<Rule, 'roles' | 'groups'> & { readonly other_users: number }
  }[]
}

/** @throws user_not_found */
async function getRole(db: Queryable, username: string): Promise<Role> {
  const row = await db.first<{ role: Role }>('select role from account where username = $1', [username])
  return row?.role ?? fail('user_not_found', { username })
}

/** What a user sees, and by what. An admin sees everything, whatever the rules say. @throws user_not_found */
export async function readPerson(
  db: Queryable,
  repositories: Pick<Repositories, 'all'>,
  username: string,
): Promise<PersonAccess> {
  const role = await getRole(db, username)
  const who: Pick<Principal, 'kind' | 'name' | 'role'> = { kind: 'user', name: username, role }
  const rules = new Map((await listRules(db)).map(rule => [rule.codename, rule]))
  const groups = await listGroups(db)
  return {
    username,
    groups: groups.filter(group => group.members.includes(username)).map(group => group.name),
    distributions: repositories.all().map(({ codename, format, label }) => {
      const rule = rules.get(codename) ?? { codename, private: false, roles: [], users: [], groups: [] }
      const by = opens(who, rule, groups)
      return {
        ...{ codename, format, label, private: rule.private, by },
        ...{ sees: by.length > 0, named: rule.users.includes(username), open: isOpen(rule) },
        rule: {
          roles: rule.roles,
          groups: rule.groups,
          other_users: rule.users.filter(name => name !== username).length,
        },
      }
    }),
  }
}

/** A rule or group before and after. */
export interface Changed<T> {
  readonly before: T
  readonly after: T
}
export interface PersonChange {
  readonly rules: readonly Changed<Rule>[]
  readonly groups: readonly Changed<Group>[]
}

const toggled = (names: readonly string[], name: string, isIn: boolean): readonly string[] =>
  isIn ? [...names, name] : names.filter(one => one !== name)

/** The rules that change so that exactly those of `codenames` name the user. @throws rule_is_open, rule_would_open */
function changedRules(rules: readonly Rule[], username: string, codenames: readonly string[]): Changed<Rule>[] {
  const open = codenames.find(codename => !rules.some(rule => rule.codename === codename && !isOpen(rule)))
  if (open !== undefined) fail('rule_is_open', { codename: open })
  return rules.flatMap(before => {
    const isIn = codenames.includes(before.codename)
    if (isIn === before.users.includes(username)) return []
    const after = { ...before, users: toggled(before.users, username, isIn) }
    if (isOpen(after)) fail('rule_would_open', { username, codename: before.codename })
    return [{ before, after }]
  })
}

/**
 * Writes which rules name a user and which groups have that user as a member; undefined leaves them. Of two at once the
 * second sees the first.
 * @throws user_not_found, group_not_found, rule_is_open, rule_would_open
 */
export async function replacePerson(
  tx: Tx,
  username: string,
  {
    codenames,
    groups: names,
  }: { readonly codenames: readonly string[] | undefined; readonly groups: readonly string[] | undefined },
): Promise<PersonChange> {
  await tx.query('lock table distribution_access, access_group in share row exclusive mode')
  await getRole(tx, username)
  const all = await listGroups(tx)
  const missing = names?.find(name => !all.some(group => group.name === name))
  if (missing !== undefined) fail('group_not_found', { name: missing })
  const rules = codenames === undefined ? [] : changedRules(await listRules(tx), username, codenames)
  const groups = (names === undefined ? [] : all).flatMap(before => {
    const isIn = names?.includes(before.name) === true
    if (isIn === before.members.includes(username)) return []
    return [{ before, after: { ...before, members: toggled(before.members, username, isIn) } }]
  })
  for (const { after } of rules)
    await tx.query('update distribution_access set users = $2 where codename = $1', [after.codename, after.users])
  for (const { after } of groups)
    await tx.query('update access_group set members = $2 where name = $1', [after.name, after.members])
  return { rules, groups }
}
