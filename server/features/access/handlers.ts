import type { Handlers, RawRequest } from '../../core/contract.ts'
import type { Principal } from '../../core/access.ts'
import { fail } from '../../core/errors.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Audit } from '../../record/audit.ts'
import type { access } from './contract.ts'
import { readPerson, replacePerson } from './people.ts'
import { listGroups, listRules, replaceGroup, replaceRule, type AccessRules, type Group, type Rule } from './rules.ts'

export interface AccessDeps {
  readonly db: Db
  readonly repositories: Pick<Repositories, 'need' | 'all'>
  readonly audit: Pick<Audit, 'owe'>
  readonly rules: Pick<AccessRules, 'changed'>
}

/** Whom a rule names, as `role:reader`, `user:ada`, `group:desk`. */
function namesOf(rule: Rule | undefined): readonly string[] {
  const { roles = [], users = [], groups = [] } = rule ?? {}
  return [
    ...roles.map(name => `role:${name}`),
    ...users.map(name => `user:${name}`),
    ...groups.map(name => `group:${name}`),
  ]
}

interface Change {
  readonly added: readonly string[]
  readonly removed: readonly string[]
}
const compare = (before: readonly string[], after: readonly string[]): Change => ({
  added: after.filter(name => !before.includes(name)),
  removed: before.filter(name => !after.includes(name)),
})
const isSame = ({ added, removed }: Change): boolean => added.length + removed.length === 0

interface From {
  readonly who: Principal
  readonly raw: Pick<RawRequest, 'clientIp'>
}
const line = ({ who, raw }: From) =>
  ({ action: 'ACCESS_CHANGE', result: 'SUCCESS', user: who.name, ip: raw.clientIp }) as const

/** Writes the audit line of a rule that changed, and none where nothing did. */
async function noteRule(
  { audit, tx, from }: { readonly audit: AccessDeps['audit']; readonly tx: Tx; readonly from: From },
  before: Rule | undefined,
  after: Rule,
): Promise<void> {
  const change = compare(namesOf(before), namesOf(after))
  if ((before?.private ?? false) === after.private && isSame(change)) return
  const { codename, private: isPrivate, roles, users, groups } = after
  await audit.owe(tx, {
    ...line(from),
    distribution: codename,
    facts: { kind: 'access.changed', private: isPrivate, roles, usernames: users, groups, ...change },
  })
}

/** Likewise of a group. */
async function noteGroup(
  { audit, tx, from }: { readonly audit: AccessDeps['audit']; readonly tx: Tx; readonly from: From },
  before: Group | undefined,
  { name, members }: Group,
): Promise<void> {
  const change = compare(before?.members ?? [], members)
  if (before !== undefined && isSame(change)) return
  await audit.owe(tx, { ...line(from), facts: { kind: 'group.changed', group: name, members, ...change } })
}

export const accessHandlers: Handlers<typeof access, AccessDeps> = {
  'GET /access/distributions': async ({ db }) => ({ distributions: await listRules(db) }),
  'PUT /access/distributions/{codename}': async ({ db, audit, rules, repositories }, { params, body, who, raw }) => {
    const { codename } = repositories.need(params.codename)
    const known = new Set((await listGroups(db)).map(group => group.name))
    const missing = body.groups?.find(name => !known.has(name))
    if (missing !== undefined) fail('group_not_found', { name: missing })
    const { private: isPrivate = false, roles = [], users = [], groups = [] } = body
    const rule: Rule = { codename, private: isPrivate, roles, users, groups }
    await db.tx(async tx => noteRule({ audit, tx, from: { who, raw } }, await replaceRule(tx, rule), rule))
    rules.changed()
    return rule
  },
  'GET /access/groups': async ({ db }) => ({ groups: await listGroups(db) }),
  'PUT /access/groups/{name}': async ({ db, audit, rules }, { params: { name }, body: { members }, who, raw }) => {
    const group: Group = { name, members }
    await db.tx(async tx => noteGroup({ audit, tx, from: { who, raw } }, await replaceGroup(tx, group), group))
    rules.changed()
    return group
  },
  'DELETE /access/groups/{name}': async ({ db, audit, rules }, { params: { name }, who, raw }) => {
    await db.tx(async tx => {
      const used = await tx.first<{ codename: string }>(
        'select codename from distribution_access where $1 = any(groups) limit 1',
        [name],
      )
      if (used !== undefined) fail('group_in_use', { name, codename: used.codename })
      if ((await tx.first('delete from access_group where name = $1 returning 1 as one', [name])) === undefined)
        fail('group_not_found', { name })
      await audit.owe(tx, { ...line({ who, raw }), facts: { kind: 'group.removed', group: name } })
    })
    rules.changed()
  },
  'GET /access/people/{username}': ({ db, repositories }, { params: { username } }) =>
    readPerson(db, repositories, username),
  'PUT /access/people/{username}': async ({ db, audit, rules, repositories }, { params, body, who, raw }) => {
    const { username } = params
    for (const codename of body.distributions ?? []) repositories.need(codename)
    await db.tx(async tx => {
      const to = { audit, tx, from: { who, raw } }
      const wish = { codenames: body.distributions, groups: body.groups }
      const changed = await replacePerson(tx, username, wish)
      for (const { before, after } of changed.rules) await noteRule(to, before, after)
      for (const { before, after } of changed.groups) await noteGroup(to, before, after)
    })
    rules.changed()
    return readPerson(db, repositories, username)
  },
}
