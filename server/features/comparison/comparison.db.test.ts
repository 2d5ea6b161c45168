import { afterAll, beforeAll, expect, test } from 'vitest'
import { composeContents } from '../../contents/compose.ts'
import { createFileLists } from '../../contents/file-lists.ts'
import type { Manifest } from '../../core/manifest.ts'
import { NO_NAMES } from '../../contents/java/coordinates.ts'
import { createPool } from '../../files/pool.ts'
import { buildDeb } from '../../../test/support/packages.ts'
import { codeOf, createCaller } from '../../../test/support/routes.ts'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import { comparison } from './contract.ts'
import { comparisonHandlers, type ComparisonDeps } from './handlers.ts'

let stock: Stock
const deps = (): ComparisonDeps => {
  const pool = createPool({ layout: stock.layout, clock: stock.clock })
  return {
    db: stock.db,
    contents: composeContents({
      layout: stock.layout,
      pool,
      version: 'test',
      settings: { now: () => ({ validation: { contents_cpu_seconds: 120 } }) },
      javaNames: async () => NO_NAMES,
    }),
    fileLists: createFileLists({ pool, incoming: stock.layout.incoming }),
  }
}
let call: ReturnType<typeof createCaller<typeof comparison, ComparisonDeps>>['call']
const module = (name: string, version: string): Record<string, string> => ({
  [`opt/app/node_modules/${name}/package.json`]: JSON.stringify({ name, version }),
})

beforeAll(async () => {
  stock = await createStock()
  ;({ call } = createCaller(comparison, comparisonHandlers, deps))
  const put = async (version: string, made: object, more: object = {}): Promise<void> => {
    const bytes = await buildDeb({ name: 'app', version, ...made })
    await stock.put({ name: 'app', version, bytes: bytes as never, ...more })
  }
  await put(
    '1.0',
    {
      files: {
        'opt/app/main': 'one',
        'opt/app/old': 'x',
        'opt/app/same': 's',
        ...module('ms', '2.0.0'),
        ...module('he', '1.0.0'),
      },
    },
    {
      depends: [[{ name: 'libc6', op: '>=', version: '2.31' }], [{ name: 'zlib1g' }]],
      findings: [
        { id: 'CVE-2026-1', package: 'app', severity: 'high', detected_by: ['x'] },
        { id: 'CVE-2026-2', package: 'app', severity: 'low', detected_by: ['x'] },
      ],
    },
  )
  await put(
    '2.0',
    {
      scripts: { postinst: '#!/bin/sh\nwget http://updates.example/next\n' },
      files: { 'opt/app/main': 'two', 'opt/app/new': 'x', 'opt/app/same': 's', ...module('ms', '2.1.3') },
    },
    {
      depends: [[{ name: 'libc6', op: '>=', version: '2.36' }], [{ name: 'zlib1g' }]],
      findings: [{ id: 'CVE-2026-2', package: 'app', severity: 'low', detected_by: ['x'] }],
    },
  )
  await put('0.9', { files: { 'opt/app/main': 'zero' } }, { state: 'rejected' })
})
afterAll(() => stock.close())

const AFTER = { name: 'app', version: '2.0' }

test('two versions: findings, dependencies, components and what installing does, each with what is new and what is gone', async () => {
  const answer = await call('GET /artifacts/{name}/{version}/compare', { params: AFTER, query: { with: '1.0' } })
  expect(answer).toMatchObject({
    before: { version: '1.0', status: 'published' },
    after: { version: '2.0', status: 'published' },
    findings: { added: [], removed: [{ id: 'CVE-2026-1', severity: 'high' }], kept: 1 },
    dependencies: { added: ['libc6 (>= 2.36)'], removed: ['libc6 (>= 2.31)'], kept: 1, both: ['zlib1g'] },
    components: {
      added: [],
      removed: ['pkg:npm/he@1.0.0'],
      changed: [{ purl: 'pkg:npm/ms', before: ['2.0.0'], after: ['2.1.3'] }],
      kept: 0,
    },
    install: { scripts: { added: ['postinst'], removed: [], changed: [] }, hosts: { added: ['updates.example'] } },
  })
})

test('the files that differ, counted for the whole and listed by page', async () => {
  const list = (query: object) =>
    call('GET /artifacts/{name}/{version}/compare/files', { params: AFTER, query: { with: '1.0', ...query } })
  const all = await list({})
  const rows = all.items.map(({ path, change, differs }) => [path, change, differs.join()])
  expect(rows).toEqual([
    ['opt/app/main', 'changed', 'content'],
    ['opt/app/new', 'added', ''],
    ['opt/app/node_modules/he', 'removed', ''],
    ['opt/app/node_modules/he/package.json', 'removed', ''],
    ['opt/app/node_modules/ms/package.json', 'changed', 'content'],
    ['opt/app/old', 'removed', ''],
  ])
  expect(all).toMatchObject({ added: 1, removed: 3, changed: 2, uncompared: 0 })
  expect(all.same).toBeGreaterThan(0)
  const narrowed = await list({ change: 'changed', q: 'MAIN', per_page: 1 })
  expect(narrowed).toMatchObject({ total: 1, changed: 2, items: [{ path: 'opt/app/main' }] })
  expect(narrowed.items[0]?.before?.sha256).not.toBe(narrowed.items[0]?.after?.sha256)
  expect(narrowed.items[0]?.before?.owner).toBe('root:root')
})

test('of a refused version what is recorded is compared; the rest is said to be unknown, and its files are refused', async () => {
  const query = { with: '0.9' }
  const answer = await call('GET /artifacts/{name}/{version}/compare', { params: AFTER, query })
  expect([answer.components, answer.install]).toEqual([null, null])
  expect(answer.unknown).toContainEqual(expect.stringMatching(/^What 0\.9 in \w+ carries .* not in the pool\.$/))
  const files = call('GET /artifacts/{name}/{version}/compare/files', { params: AFTER, query })
  expect(await codeOf(files)).toBe('files_not_at_hand')
})

test('a version that no engine looked up, or that the data do not name, is never said to be without findings', async () => {
  const scan = { step: 'vulnerabilities', said: '…' } as const
  const put = (version: string, reports: Manifest['reports']) => stock.put({ name: 'lib', version, reports })
  await put('1', [{ ...scan, outcome: 'ok', verdict: 'no_findings' }])
  await put('2', [{ ...scan, outcome: 'warned', verdict: 'no_data' }])
  await put('3', [{ ...scan, outcome: 'unavailable', verdict: 'unavailable' }])
  const told = async (version: string) => {
    const params = { name: 'lib', version: '1' }
    const { before, unknown } = await call('GET /artifacts/{name}/{version}/compare', {
      params,
      query: { with: version },
    })
    return [before.scanned, before.no_data, ...unknown.filter(said => said.includes('vulnerabilities'))]
  }
  expect(await told('1')).toEqual([true, false])
  expect(await told('2')).toEqual([
    true,
    true,
    'The vulnerability data do not name 2 in jammy: it may have vulnerabilities that are not listed.',
  ])
  expect(await told('3')).toEqual([
    false,
    false,
    '3 in jammy was not looked up in full: it may have vulnerabilities that are not listed.',
  ])
})

test('what was read in part is compared as far as it goes, and said to be in part', async () => {
  const cut = { components: [], unopened: [], cut: 'It broke off.' }
  const closed = { components: [], unopened: [{ path: 'a.zip', size: 1, why: 'It is encrypted.' }], more: 1 }
  const contents: ComparisonDeps['contents'] = {
    of: async ({ ref }) => (ref.version === '2.0' ? cut : closed),
    known: async () => undefined,
  }
  const { call: ask } = createCaller(comparison, comparisonHandlers, () => ({ ...deps(), contents }))
  const answer = await ask('GET /artifacts/{name}/{version}/compare', { params: AFTER, query: { with: '1.0' } })
  expect(answer.components?.cut).toBe('It broke off. 2 files were not opened.')
  expect(answer.install).toMatchObject({
    said: 'Nothing new was seen. Not all of it could be read, so there may be more.',
    cut: 'It broke off.',
  })
  expect(answer.unknown).toContain(
    '1.0 in jammy was not read in full, so it may carry and do more than is listed. 2 files were not opened.',
  )
})

test('existing clients are answered by the same rules', async () => {
  const { diff, arch } = await call('GET /artifacts/{name}/versions/compare', {
    params: { name: 'app' },
    query: { v1: '1.0', v2: '2.0' },
  })
  expect(diff).toMatchObject({
    dependencies: { added: ['libc6 (>= 2.36)'], removed: ['libc6 (>= 2.31)'] },
    cves: { added: [], removed: ['CVE-2026-1'] },
  })
  expect([arch, diff.changed.map(({ field }) => field)]).toEqual(['amd64', ['size_bytes', 'sha256']])
})

test('a version nobody has, and one of a hidden distribution, are not found', async () => {
  const compare = (query: { with: string }, more: object = {}) =>
    codeOf(call('GET /artifacts/{name}/{version}/compare', { params: AFTER, query, ...more }))
  expect(await compare({ with: '7' })).toBe('version_not_found')
  const { distribution } = (
    await call('GET /artifacts/{name}/{version}/compare', { params: AFTER, query: { with: '1.0' } })
  ).before
  expect(await compare({ with: '1.0' }, { viewer: { hidden: [distribution] } })).toBe('package_not_found')
})
