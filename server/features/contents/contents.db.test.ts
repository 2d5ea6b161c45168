import { afterAll, beforeAll, expect, test } from 'vitest'
import { composeContents } from '../../contents/compose.ts'
import { NO_NAMES } from '../../contents/java/coordinates.ts'
import { createPool } from '../../files/pool.ts'
import { buildDeb } from '../../../test/support/packages.ts'
import { codeOf, createCaller } from '../../../test/support/routes.ts'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import { contents } from './contract.ts'
import { contentsHandlers, type ContentsRoutesDeps } from './handlers.ts'

let stock: Stock
const deps = (): ContentsRoutesDeps => ({
  db: stock.db,
  contents: composeContents({
    layout: stock.layout,
    pool: createPool({ layout: stock.layout, clock: stock.clock }),
    version: 'test',
    settings: { now: () => ({ validation: { contents_cpu_seconds: 120 } }) },
    javaNames: async () => NO_NAMES,
  }),
})
let call: ReturnType<typeof createCaller<typeof contents, ContentsRoutesDeps>>['call']
const APP = { name: 'app', version: '1.0' }

beforeAll(async () => {
  stock = await createStock()
  ;({ call } = createCaller(contents, contentsHandlers, deps))
  const bytes = await buildDeb({
    ...APP,
    files: {
      'opt/app/node_modules/ms/package.json': '{"name":"ms","version":"2.0.0"}',
      'opt/app/package-lock.json': JSON.stringify({ packages: { 'node_modules/he': { version: '1.2.0' } } }),
      'opt/app/x.jar': 'broken',
    },
  })
  await stock.put({ ...APP, bytes: bytes as never })
})
afterAll(() => stock.close())

test('a package that nobody has read is read when its contents are asked for', async () => {
  const row = { rule: 'npm-package-json', confidence: 'certain', findings: [] }
  expect(await call('GET /artifacts/{name}/{version}/components', { params: APP, query: {} })).toEqual({
    items: [
      {
        ...row,
        purl: 'pkg:npm/he@1.2.0',
        name: 'he',
        version: '1.2.0',
        path: 'opt/app/package-lock.json',
        presence: 'declared',
        rule: 'package-lock',
      },
      {
        ...row,
        purl: 'pkg:npm/ms@2.0.0',
        name: 'ms',
        version: '2.0.0',
        path: 'opt/app/node_modules/ms/package.json',
        presence: 'shipped',
      },
    ],
    total: 2,
    page: 1,
    per_page: 50,
    pages: 1,
    shipped: 1,
    declared: 1,
  })
  expect(await call('GET /artifacts/{name}/{version}/unopened', { params: APP, query: {} })).toEqual({
    items: [{ path: 'opt/app/x.jar', size: 6, why: expect.stringMatching(/^It could not be read to its end: .*\.$/) }],
    total: 1,
    page: 1,
    per_page: 50,
    pages: 1,
    all: 1,
    more: 0,
  })
})

test('an unknown package and an unknown version are told apart', async () => {
  for (const key of [
    'GET /artifacts/{name}/{version}/components',
    'GET /artifacts/{name}/{version}/unopened',
  ] as const) {
    expect(await codeOf(call(key, { params: { name: 'none', version: '1' }, query: {} }))).toBe('package_not_found')
    expect(await codeOf(call(key, { params: { name: 'app', version: '9' }, query: {} }))).toBe('version_not_found')
  }
})
