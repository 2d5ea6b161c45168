import { Readable } from 'node:stream'
import { moment } from '../../core/moment.ts'
import type { FileReply, Handlers } from '../../core/contract.ts'
import { cveStatus } from '../../catalog/view.ts'
import type { State } from '../../core/manifest.ts'
import type { Repositories } from '../../core/repository.ts'
import { isoNow, type Clock } from '../../lib/clock.ts'
import { printRow } from '../../lib/csv.ts'
import type { Audit, AuditEntry, AuditFilter, StoredEntry } from '../../record/audit.ts'
import { archiveOf } from './archive.ts'
import type { audit, ShownEntry } from './contract.ts'

export interface AuditDeps {
  readonly audit: Pick<Audit, 'search' | 'all' | 'files' | 'integrity' | 'digests'>
  readonly repositories: Pick<Repositories, 'all'>
  readonly clock: Clock
}

const PER_PAGE = 100

function stateOf({ facts }: AuditEntry): State | undefined {
  if (facts === undefined) return undefined
  if ('to_state' in facts) return facts.to_state
  return 'state' in facts ? (facts.state as State) : undefined
}

function shown(entry: StoredEntry, formats: ReadonlyMap<string, string>): ShownEntry {
  const state = stateOf(entry)
  return {
    ...entry,
    validation_steps: [],
    cve_status: state === undefined ? null : cveStatus(state),
    repo_format: formats.get(entry.distribution ?? '') ?? null,
  }
}

const formatsOf = ({ repositories }: Pick<AuditDeps, 'repositories'>): ReadonlyMap<string, string> =>
  new Map(repositories.all().map(one => [one.codename, one.format]))

/** A JSON list, an entry at a time. @returns how many there were */
async function* printList(
  entries: AsyncIterable<StoredEntry>,
  formats: ReadonlyMap<string, string>,
): AsyncGenerator<string, number> {
  let count = 0
  yield '['
  for await (const entry of entries) yield `${count++ === 0 ? '' : ','}\n${JSON.stringify(shown(entry, formats))}`
  yield ']'
  return count
}

async function* printUser(
  username: string,
  at: string,
  list: AsyncGenerator<string, number>,
): AsyncGenerator<string, void> {
  yield `{"username":${JSON.stringify(username)},"exported_at":${JSON.stringify(at)},"entries":`
  const count = yield* list
  yield `,"count":${count}}`
}

const COLUMNS = [
  ...['timestamp', 'id', 'action', 'result', 'user', 'ip', 'package', 'version', 'distribution', 'detail'],
  ...['request_id', 'prev', 'hash'],
] as readonly (keyof StoredEntry & string)[]

async function* printTable(entries: AsyncIterable<StoredEntry>): AsyncGenerator<string> {
  yield printRow(COLUMNS)
  for await (const entry of entries) yield printRow(COLUMNS.map(column => String(entry[column] ?? '')))
}

/** What fails after the first byte cuts the connection, so that half an export is never taken for a whole one. */
const download = (
  parts: AsyncGenerator<string>,
  name: string,
  type = 'application/json; charset=utf-8',
): FileReply => ({
  body: Readable.from(parts, { objectMode: false }),
  type,
  name,
})

/** An empty field of a form filters nothing. @throws bad_request where a date does not exist */
function filterOf(query: AuditFilter): AuditFilter {
  const { package: name, action, result, arrivals, user, q, request_id: request } = query
  const from = moment('from', query.from)
  const to = moment('to', query.to)
  return {
    ...(name ? { package: name } : {}),
    ...(action ? { action } : {}),
    ...(result ? { result } : {}),
    ...(arrivals ? { arrivals } : {}),
    ...(user ? { user } : {}),
    ...(q ? { q } : {}),
    ...(request ? { request_id: request } : {}),
    ...(from ? { from } : {}),
    ...(to ? { to } : {}),
  }
}

export const auditHandlers: Handlers<typeof audit, AuditDeps> = {
  'GET /artifacts/audit/logs': async ({ audit: log, repositories }, { query, viewer }) => {
    const { page = 1, per_page = PER_PAGE } = query
    const { items, total } = await log.search(viewer, {
      ...filterOf(query),
      page,
      perPage: per_page,
      ...(query.sort === 'asc' ? { isAscending: true } : {}),
    })
    const formats = formatsOf({ repositories })
    return {
      items: items.map(entry => shown(entry, formats)),
      total,
      page,
      per_page,
      pages: Math.ceil(total / per_page),
    }
  },
  'GET /artifacts/audit/export': (deps, { query, viewer }) => {
    const entries = deps.audit.all(viewer, filterOf(query))
    const day = isoNow(deps.clock).slice(0, 10)
    return query.format === 'csv'
      ? download(printTable(entries), `gatehouse-audit-${day}.csv`, 'text/csv; charset=utf-8')
      : download(printList(entries, formatsOf(deps)), `gatehouse-audit-${day}.json`)
  },
  'GET /artifacts/audit/export/archive': ({ audit: log, clock }, { viewer }) => ({
    body: archiveOf(log.files(viewer), clock.now()),
    type: 'application/gzip',
    name: `gatehouse-audit-${isoNow(clock).slice(0, 10)}.tar.gz`,
  }),
  'GET /artifacts/audit/export/user/{username}': (deps, { params: { username }, viewer }) => {
    const list = printList(deps.audit.all(viewer, { user: username }), formatsOf(deps))
    return download(printUser(username, isoNow(deps.clock), list), 'audit-user.json')
  },
  'GET /artifacts/audit/integrity': async ({ audit: log, clock }) => {
    const { files, cut = null, replaced = null, ...chain } = await log.integrity()
    const digests = await log.digests()
    return {
      ...chain,
      cut,
      replaced,
      checked_at: isoNow(clock),
      file_count: files,
      files: digests,
      total: digests.length,
    }
  },
}
