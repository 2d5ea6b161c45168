import type { Handlers } from '../../core/contract.ts'
import type { AppAddress } from '../../core/app-address.ts'
import { fail } from '../../core/errors.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Db, Queryable } from '../../db/db.ts'
import { pageOf, pagingOf } from '../../catalog/page.ts'
import { hashAgentToken, makeAgentToken } from '../../inventory/agent-token.ts'
import type { CheckDeps, ClientRow } from '../../inventory/client-row.ts'
import { readRules } from '../../inventory/rules.ts'
import type { Clock } from '../../lib/clock.ts'
import type { SecretBox } from '../../lib/secret-box.ts'
import type { Audit, AuditAction } from '../../record/audit.ts'
import type { AuditFacts } from '../../record/audit-facts.ts'
import { deleteClient, getClient, insertClient, listClients, updateClient, type ClientChange } from './clients.ts'
import { viewOf } from './client-view.ts'
import type { clients } from './client-contract.ts'
import { findKnownHost, forgetKnownHost, trustOffered } from './known-hosts.ts'
import { standingOf } from './summary.ts'

export interface ClientRouteDeps {
  readonly db: Db
  readonly clock: Clock
  readonly box: SecretBox
  readonly repositories: Pick<Repositories, 'find' | 'get'>
  readonly address: Pick<AppAddress, 'console'>
  readonly audit: Pick<Audit, 'owe'>
  /** Called in the transaction in which what a machine is compared with has changed. */
  readonly changed: (tx: Queryable, id: number) => Promise<unknown>
}

/** What the rules are asked with, now. */
export async function checkDeps(deps: Pick<ClientRouteDeps, 'db' | 'clock' | 'repositories'>): Promise<CheckDeps> {
  return { repositories: deps.repositories, rules: await readRules(deps.db), now: deps.clock.now() }
}

type Actor = { readonly who: { readonly name: string }; readonly raw: { readonly clientIp: string } }
const lineOf = ({ who, raw }: Actor, action: AuditAction, facts: AuditFacts) =>
  ({ action, result: 'SUCCESS', user: who.name, ip: raw.clientIp, facts }) as const

/** The line that makes a machine report itself. The token is in the environment: no list of processes has it. */
const installCommand = (url: string, token: string): string =>
  `curl -fsS ${url}/api/v1/inventory/agent.sh | GATEHOUSE_URL=${url} GATEHOUSE_TOKEN=${token} sh`

interface Sent extends Omit<ClientChange, 'ssh_password'> {
  readonly ssh_password?: string
}

/** What was sent, as it is kept. @throws unknown_distribution */
function changeOf(
  { box, repositories }: ClientRouteDeps,
  sent: Sent & { readonly distribution?: string | null },
): ClientChange {
  const { ssh_password: password, distribution, ...rest } = sent
  if (typeof distribution === 'string') repositories.get(distribution)
  return {
    ...rest,
    ...(password === undefined ? {} : { ssh_password: password === '' ? null : box.seal(password) }),
    ...(distribution === undefined
      ? {}
      : { wanted_distribution: distribution, ...(distribution === null ? {} : { distribution }) }),
  }
}

const hostOf = ({ id, hostname }: ClientRow) => ({ client: id, hostname })

export const clientHandlers: Handlers<typeof clients, ClientRouteDeps> = {
  'GET /inventory/clients': async (deps, { query, viewer }) => {
    const { page, per_page, sort, compliance, ...filter } = query
    const paging = pagingOf({
      ...(page === undefined ? {} : { page }),
      ...(per_page === undefined ? {} : { per_page }),
    })
    const rules = await checkDeps(deps)
    const asked = { filter, ...(sort === undefined ? {} : { sort }) }
    if (compliance === undefined) {
      const { rows, total } = await listClients(deps.db, viewer, { ...asked, paging })
      return pageOf(
        rows.map(row => viewOf(row, rules)),
        total,
        paging,
      )
    }
    // what rules say is not kept, since it changes by the day
    const { rows } = await listClients(deps.db, viewer, asked)
    const fitting = rows.filter(row => standingOf(row, rules) === compliance)
    const from = (paging.page - 1) * paging.perPage
    return pageOf(
      fitting.slice(from, from + paging.perPage).map(row => viewOf(row, rules)),
      fitting.length,
      paging,
    )
  },
  'POST /inventory/clients': async (deps, input) => {
    const { connection_type: connection, ...sent } = input.body
    const change = changeOf(deps, sent)
    const token = connection === 'agent' ? makeAgentToken() : undefined
    const hash = token === undefined ? undefined : hashAgentToken(token)
    const row = await deps.db.tx(async tx => {
      const made = await insertClient(tx, connection, {
        ...change,
        hostname: sent.hostname,
        ...(connection === 'ssh' ? { ip: sent.ip ?? sent.hostname } : {}),
        ...(hash === undefined ? {} : { agent_token_hash: hash }),
      })
      await deps.audit.owe(
        tx,
        lineOf(input, 'INVENTORY_CHANGE', { kind: 'machine.added', ...hostOf(made), connection }),
      )
      return made
    })
    const url = deps.address.console(input.raw)
    return {
      ...viewOf(row, await checkDeps(deps)),
      agent_token: token ?? null,
      install_command: token === undefined ? null : installCommand(url, token),
    }
  },
  'GET /inventory/clients/{id}': async (deps, { params, viewer }) => {
    const row = await getClient(deps.db, viewer, params.id)
    return {
      ...viewOf(row, await checkDeps(deps)),
      known_host: (await findKnownHost(deps.db, row.id)) ?? null,
    }
  },
  'PATCH /inventory/clients/{id}': async (deps, input) => {
    const { id } = await getClient(deps.db, input.viewer, input.params.id)
    const change = changeOf(deps, input.body)
    const row = await deps.db.tx(async tx => {
      const changed = await updateClient(tx, id, change)
      const fields = Object.keys(input.body).sort()
      await deps.audit.owe(
        tx,
        lineOf(input, 'INVENTORY_CHANGE', { kind: 'machine.changed', ...hostOf(changed), fields }),
      )
      if ('distribution' in input.body) await deps.changed(tx, id)
      return changed
    })
    return viewOf(row, await checkDeps(deps))
  },
  'DELETE /inventory/clients/{id}': async (deps, input) => {
    const row = await getClient(deps.db, input.viewer, input.params.id)
    await deps.db.tx(async tx => {
      await deleteClient(tx, row.id)
      await deps.audit.owe(tx, lineOf(input, 'INVENTORY_CHANGE', { kind: 'machine.removed', ...hostOf(row) }))
    })
    return { message: `${row.hostname} is removed with all that was known of it.` }
  },
  'POST /inventory/clients/{id}/agent-token': async (deps, input) => {
    const row = await getClient(deps.db, input.viewer, input.params.id)
    if (row.connection_type !== 'agent') fail('inventory_not_by_agent', { hostname: row.hostname })
    const token = makeAgentToken()
    await deps.db.tx(async tx => {
      await updateClient(tx, row.id, { agent_token_hash: hashAgentToken(token) ?? '' })
      await deps.audit.owe(tx, lineOf(input, 'INVENTORY_TOKEN', { kind: 'machine.token', ...hostOf(row) }))
    })
    return {
      agent_token: token,
      install_command: installCommand(deps.address.console(input.raw), token),
      message: `${row.hostname} reports with this token from now on. It is shown this once.`,
    }
  },
  'POST /inventory/clients/{id}/host-key/reset': async (deps, input) => {
    const { db, clock, audit } = deps
    const row = await getClient(db, input.viewer, input.params.id)
    const { fingerprint } = input.body
    const known = await findKnownHost(db, row.id)
    await db.tx(async tx => {
      if (fingerprint === undefined) await forgetKnownHost(tx, row.id)
      else if (!(await trustOffered(tx, row.id, { fingerprint, by: input.who.name, at: clock.now() })))
        fail('inventory_not_offered', { fingerprint, hostname: row.hostname })
      const kind = fingerprint === undefined ? 'machine.key_forgotten' : 'machine.key_trusted'
      const which = fingerprint ?? known?.fingerprint ?? 'no key'
      await audit.owe(tx, lineOf(input, 'INVENTORY_HOST_KEY', { kind, ...hostOf(row), fingerprint: which }))
    })
    return {
      known_host: (await findKnownHost(db, row.id)) ?? null,
      message:
        fingerprint === undefined
          ? `The key of ${row.hostname} is forgotten. The next one that is seen is trusted.`
          : `${row.hostname} is trusted by ${fingerprint} from now on.`,
    }
  },
}
