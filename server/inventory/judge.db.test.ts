import { afterAll, beforeAll, expect, test } from 'vitest'
import { repositories } from '../../test/support/repositories.ts'
import { createTestDb, type TestDb } from '../../test/support/postgres.ts'
import type { CoverageAnswer } from '../scanners/scanner.ts'
import { takeReport, type IntakeDeps } from './intake.ts'
import { judgeMachine, listStale, type JudgeDeps } from './judge.ts'
import { readReport } from './report.ts'
import { dpkgLine, report } from '../../test/support/machine-report.ts'

let it: TestDb
let deps: JudgeDeps & IntakeDeps
const owed: string[] = []
const data = { generation: '1', coverage: 'covered' as CoverageAnswer }
beforeAll(async () => {
  it = await createTestDb()
  deps = {
    db: it.db,
    clock: { now: () => new Date('2026-11-20T12:00:00Z') },
    repositories,
    outbox: {
      owe: async (_, key) => owed.push(key),
      nudge: () => undefined,
    },
    matcher: {
      generation: async () => data.generation,
      coverage: async () => ({ coverage: data.coverage, said: 'Of a test.' }),
      match: async (_, packages) =>
        packages.map(one =>
          one.name === 'openssl'
            ? [{ id: 'CVE-1', package: 'openssl', severity: 'high' as const, detected_by: ['osv'] }]
            : [],
        ),
    },
  }
})
afterAll(() => it.close())

async function machine(): Promise<number> {
  const row = await it.db.first<{ id: number }>(
    `insert into inventory_client (hostname, connection_type) values ('a', 'agent') returning id`,
  )
  return row?.id ?? 0
}
const tell = (clientId: number, ...lines: readonly string[]) =>
  takeReport(deps, readReport(Buffer.from(report({ lines }))), {
    clientId,
    connection: 'agent',
    by: 'agent',
    durationMs: 1,
  })
const row = (id: number) =>
  it.db.first<Record<string, unknown>>('select findings, coverage, behind from inventory_client where id = $1', [id])

test('a machine is compared after its first report and after each change of its list, not after an equal one', async () => {
  const id = await machine()
  await tell(id, dpkgLine('openssl', '1'))
  await judgeMachine(deps, id)
  await tell(id, dpkgLine('openssl', '1'))
  await tell(id, dpkgLine('openssl', '2'))
  expect(owed).toEqual([`inventory:${id}`, `inventory:${id}`])
  await judgeMachine(deps, id)
  expect(await row(id)).toMatchObject({ coverage: 'covered', behind: 0, findings: { high: 1, critical: 0 } })
})

test('it is compared again with other data, and when its data grew old; then its findings count on', async () => {
  const id = await machine()
  await tell(id, dpkgLine('openssl', '1'))
  await judgeMachine(deps, id)
  const isStale = async (): Promise<boolean> => (await listStale(deps)).includes(id)
  expect(await isStale()).toBe(false)
  data.generation = '2'
  expect(await isStale()).toBe(true)
  await judgeMachine(deps, id)
  expect(await isStale()).toBe(false)
  data.coverage = 'stale'
  expect(await isStale()).toBe(true)
  await judgeMachine(deps, id)
  expect(await row(id)).toMatchObject({ coverage: 'stale', findings: { high: 1 } })
  // without data nothing is known, which is not nothing
  data.coverage = 'no_data'
  await judgeMachine(deps, id)
  expect(await row(id)).toMatchObject({ coverage: 'no_data', findings: null })
})

test('what was found for a list that changed meanwhile is not kept', async () => {
  data.coverage = 'covered'
  const id = await machine()
  await tell(id, dpkgLine('openssl', '1'))
  const { matcher } = deps
  const slow: JudgeDeps = {
    ...deps,
    matcher: {
      ...matcher,
      match: async (system, packages) => {
        await tell(id, dpkgLine('curl', '1'))
        return matcher.match(system, packages)
      },
    },
  }
  await judgeMachine(slow, id)
  expect(await it.db.query('select 1 from inventory_finding where client_id = $1', [id])).toEqual([])
})
