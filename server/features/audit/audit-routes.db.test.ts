import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { codeOf, createCaller } from '../../../test/support/routes.ts'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import { audit } from './contract.ts'
import { repositories } from '../../../test/support/repositories.ts'
import { auditHandlers } from './handlers.ts'

let stock: Stock
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())
beforeEach(() => stock.clear())
const { call } = createCaller(audit, auditHandlers, () => ({ audit: stock.audit, repositories, clock: stock.clock }))
const logs = async (query: Record<string, unknown>): Promise<string[]> =>
  (await call('GET /artifacts/audit/logs', { query })).items.map(entry => `${entry.action} ${entry.user}`)

test('a change is in the log at once, newest first, in pages of 100', async () => {
  await stock.put({ by: 'ada' })
  await stock.audit.record({
    action: 'LOGIN',
    result: 'FAILURE',
    user: 'eve',
    facts: { kind: 'refused', why: 'wrong_password' },
    ip: '203.0.113.9',
  })
  const page = await call('GET /artifacts/audit/logs')
  expect(page).toMatchObject({ total: 2, page: 1, per_page: 100, pages: 1 })
  expect(page.items.map(entry => [entry.action, entry.result, entry.user, entry.package, entry.ip])).toEqual([
    ['LOGIN', 'FAILURE', 'eve', undefined, '203.0.113.9'],
    ['UPLOAD', 'SUCCESS', 'ada', 'hello', '192.0.2.1'],
  ])
})

test('every filter of the specification works, and an empty one filters nothing', async () => {
  await stock.put({ by: 'ada' })
  await stock.put({ by: 'bob', name: 'zlib', state: 'quarantined' })
  expect(await logs({ package: 'zlib' })).toEqual(['UPLOAD bob'])
  expect(await logs({ result: 'FAILURE' })).toEqual(['UPLOAD bob'])
  expect(await logs({ action: 'DELETE' })).toEqual([])
  expect(await logs({ q: 'ADA' })).toEqual(['UPLOAD ada'])
  expect(await logs({ package: '', action: '', result: '', user: '', q: '' })).toHaveLength(2)
})

test('a date covers the whole day, a time only itself, and a date that does not exist is refused', async () => {
  stock.clock.set('2026-03-01T23:30:00Z')
  await stock.put({ by: 'ada' })
  stock.clock.set('2026-03-02T00:30:00Z')
  await stock.put({ by: 'bob', name: 'zlib' })
  expect(await logs({ from: '2026-03-01', to: '2026-03-01' })).toEqual(['UPLOAD ada'])
  expect(await logs({ from: '2026-03-02' })).toEqual(['UPLOAD bob'])
  expect(await logs({ from: '2026-03-02T01:00+01:00' })).toEqual(['UPLOAD bob'])
  expect(await logs({ to: '2026-03-01T23:30:00.000Z' })).toEqual(['UPLOAD ada'])
  for (const from of ['2026-02-30', '2026-13-01', '2026-03-01T25:00:00Z'])
    expect(await codeOf(logs({ from }))).toBe('bad_request')
})

test('oldest first is the same list from its other end, page by page, with state and format', async () => {
  for (let n = 1; n <= 5; n++) await stock.put({ version: `${n}`, state: n === 5 ? 'pending_review' : 'published' })
  const versions = async (query: Record<string, unknown>) =>
    (await call('GET /artifacts/audit/logs', { query })).items.map(({ version }) => version)
  expect(await versions({ sort: 'desc' })).toEqual(['5', '4', '3', '2', '1'])
  expect(await versions({ sort: 'asc' })).toEqual(['1', '2', '3', '4', '5'])
  for (const [page, expected] of [['1', '2'], ['3', '4'], ['5'], []].entries())
    expect(await versions({ sort: 'asc', per_page: 2, page: page + 1 })).toEqual(expected)
  const { items } = await call('GET /artifacts/audit/logs', { query: { sort: 'asc', action: 'UPLOAD' } })
  expect(items.map(({ cve_status, repo_format }) => [cve_status, repo_format])).toEqual([
    ...Array.from({ length: 4 }, () => ['approved', 'deb']),
    ['pending_review', 'deb'],
  ])
})

test('the chain is whole after real changes', async () => {
  for (let n = 0; n < 5; n++) await stock.put({ version: `${n}` })
  await logs({})
  const checked = await call('GET /artifacts/audit/integrity')
  expect(checked).toEqual({
    ok: true,
    checked_at: stock.clock.now().toISOString(),
    cut: null,
    replaced: null,
    file_count: 1,
    total: 1,
    files: [
      {
        file: expect.stringMatching(/\.jsonl$/),
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        size: expect.any(Number),
        lines: 5,
      },
    ],
    lines: 5,
    broken: [],
  })
})

describe('the export', () => {
  const exported = async (query: Record<string, unknown>): Promise<string> => {
    const { body } = await call('GET /artifacts/audit/export', { query })
    return text(body as Readable)
  }

  test('has what the filters of the list leave, as the list shows it', async () => {
    await stock.put({ by: 'ada' })
    await stock.put({ by: 'bob', name: 'zlib', state: 'quarantined' })
    for (const query of [{}, { q: 'ADA' }, { package: 'zlib' }, { result: 'FAILURE', user: '' }, { action: 'DELETE' }])
      expect(JSON.parse(await exported(query))).toEqual((await call('GET /artifacts/audit/logs', { query })).items)
  })

  test('is a table as CSV, and nothing in it is a formula', async () => {
    const facts = { kind: 'refused', why: 'wrong_password' } as const
    for (const user of ['=1+1', '+1', '-1', '@sum', 'eve, "the" other'])
      await stock.audit.record({ action: 'LOGIN', result: 'FAILURE', user, facts })
    const [titles, ...rows] = (await exported({ format: 'csv', action: 'LOGIN' })).trimEnd().split('\r\n')
    expect(titles).toBe('timestamp,id,action,result,user,ip,package,version,distribution,detail,request_id,prev,hash')
    expect(rows.map(row => row.split(',LOGIN,FAILURE,')[1]?.replace(/,,.*/, ''))).toEqual([
      '"eve, ""the"" other"',
      "'@sum",
      "'-1",
      "'+1",
      "'=1+1",
    ])
  })

  test('is refused before its first byte where a date does not exist', async () => {
    expect(await codeOf(exported({ from: '2026-02-30' }))).toBe('bad_request')
  })
})

test('each line has the digest of itself, which the next one names', async () => {
  for (let n = 0; n < 3; n++) await stock.put({ version: `${n}` })
  const { items } = await call('GET /artifacts/audit/logs')
  expect(items.slice(1).map(({ hash }) => hash)).toEqual(items.slice(0, -1).map(({ prev }) => prev))
  expect(items[0]?.hash).toMatch(/^[0-9a-f]{64}$/)
})
