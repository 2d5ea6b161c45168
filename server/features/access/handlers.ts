import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Db } from '../../db/db.ts'
import type { Audit } from '../../record/audit.ts'
import type { access } from './contract.ts'
import { listGroups, listRules, replaceGroup, replaceRule, type AccessRules, type Rule } from './rules.ts'

export interface AccessDeps {
  readonly db: Db
  readonly repositories: Pick<Repositories, 'need'>
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

export const accessHandlers: Handlers<typeof access, AccessDeps> = {
  'GET /access/distributions': async ({ db }) => ({ distributions: await listRules(db) }),
  'PUT /access/distributions/{codename}': async ({ db, audit, rules, repositories }, { params, body, who, raw }) => {
    const { codename } = repositories.need(params.codename)
    const known = new Set((await listGroups(db)).map(group => group.name))
    const missing = body.groups?.find(name => !known.has(name))
    if (missing !== undefined) fail('group_not_found', { name: missing })
    const { private: isPrivate = false, roles = [], users = [], groups = [] } = body
    const rule: Rule = { codename, private: isPrivate, roles, users, groups }
    await db.tx(async tx => {
      const before = await replaceRule(tx, rule)
      const change = compare(namesOf(before), namesOf(rule))
      if ((before?.private ?? false) === isPrivate && isSame(change)) return
      await audit.owe(tx, {
        action: 'ACCESS_CHANGE',
        result: 'SUCCESS',
        user: who.name,
        ip: raw.clientIp,
        distribution: codename,
        facts: { kind: 'access.changed', private: isPrivate, roles, usernames: users, groups, ...change },
      })
    })
    rules.changed()
    return rule
  },
  'GET /access/groups': async ({ db }) => ({ groups: await listGroups(db) }),
  'PUT /access/groups/{name}': async ({ db, audit, rules }, { params: { name }, body: { members }, who, raw }) => {
    await db.tx(async tx => {
      const before = await replaceGroup(tx, { name, members })
      const change = compare(before?.members ?? [], members)
      if (before !== undefined && isSame(change)) return
      await audit.owe(tx, {
        action: 'ACCESS_CHANGE',
        result: 'SUCCESS',
        user: who.name,
        ip: raw.clientIp,
        facts: { kind: 'group.changed', group: name, members, ...change },
      })
    })
    rules.changed()
    return { name, members }
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
      await audit.owe(tx, {
        action: 'ACCESS_CHANGE',
        result: 'SUCCESS',
        user: who.name,
        ip: raw.clientIp,
        facts: { kind: 'group.removed', group: name },
      })
    })
    rules.changed()
  },
}
