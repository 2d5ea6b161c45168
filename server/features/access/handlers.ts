import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Db } from '../../db/db.ts'
import type { Audit } from '../../record/audit.ts'
import type { access } from './contract.ts'
import { listGroups, listRules, type AccessRules, type Rule } from './rules.ts'

export interface AccessDeps {
  readonly db: Db
  readonly repositories: Pick<Repositories, 'need'>
  readonly audit: Pick<Audit, 'owe'>
  readonly rules: Pick<AccessRules, 'changed'>
}

export const accessHandlers: Handlers<typeof access, AccessDeps> = {
  'GET /access/distributions': async ({ db }) => ({ distributions: await listRules(db) }),
  'PUT /access/distributions/{codename}': async ({ db, audit, rules, repositories }, { params, body, who, raw }) => {
    const { codename } = repositories.need(params.codename)
    const known = new Set((await listGroups(db)).map(group => group.name))
    const missing = body.groups?.find(name => !known.has(name))
    if (missing !== undefined) fail('group_not_found', { name: missing })
    const rule = await db.tx(async tx => {
      const row = await tx.first<Rule>(
        `
        insert into distribution_access (codename, private, roles, users, groups)
        values ($1, coalesce($2, false), coalesce($3::text[], '{}'), coalesce($4::text[], '{}'), coalesce($5::text[], '{}'))
        on conflict (codename) do update set private = coalesce($2, distribution_access.private), roles = coalesce($3::text[], distribution_access.roles),
          users = coalesce($4::text[], distribution_access.users), groups = coalesce($5::text[], distribution_access.groups)
        returning codename, private, roles, users, groups`,
        [codename, body.private ?? null, body.roles ?? null, body.users ?? null, body.groups ?? null],
      )
      if (row === undefined) throw new Error('the rule was not written')
      await audit.owe(tx, {
        action: 'ACCESS_CHANGE',
        result: 'SUCCESS',
        user: who.name,
        ip: raw.clientIp,
        distribution: codename,
        facts: {
          kind: 'access.changed',
          private: row.private,
          roles: row.roles,
          usernames: row.users,
          groups: row.groups,
        },
      })
      return row
    })
    rules.changed()
    return rule
  },
  'GET /access/groups': async ({ db }) => ({ groups: await listGroups(db) }),
  'PUT /access/groups/{name}': async ({ db, audit, rules }, { params: { name }, body: { members }, who, raw }) => {
    await db.tx(async tx => {
      await tx.query(
        'insert into access_group (name, members) values ($1, $2) on conflict (name) do update set members = $2',
        [name, members],
      )
      await audit.owe(tx, {
        action: 'ACCESS_CHANGE',
        result: 'SUCCESS',
        user: who.name,
        ip: raw.clientIp,
        facts: { kind: 'group.changed', group: name, members },
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
