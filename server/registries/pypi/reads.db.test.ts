import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import { DEFAULT_DISTRIBUTIONS } from '../../core/default-distributions.ts'
import type { Codename } from '../../core/identity.ts'
import type { Distribution } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { systemClock } from '../../lib/clock.ts'
import { createKeptDocuments } from '../kept-documents.ts'
import { setMark } from '../../features/registries/mark.ts'
import type { ProtocolDeps } from '../protocol-deps.ts'
import type { RegistryAnswer, RegistryRequest } from '../protocol.ts'
import { pypi } from '../../formats/pypi/index.ts'
import { createPypi } from './index.ts'

const VERSIONS = 60
/** What a manifest says beside what the pages show, in characters. */
const DESCRIBED = 10_000
const [jammy] = DEFAULT_DISTRIBUTIONS as readonly [Distribution]
const registry: Distribution = {
  ...jammy,
  ...{ kind: 'registry', registry: { kind: 'hosted' }, codename: 'ours' as Codename, format: 'pypi' },
}

let stock: Stock
let ask: (path: string) => Promise<RegistryAnswer | undefined>
/** Characters of what the database answered since it was asked for the last time. */
let takeRead: () => number
beforeAll(async () => {
  stock = await createStock({ trees: () => false, repositories: { find: () => registry } })
  const put = (version: string, state: 'published' | 'pending_review' = 'published') =>
    stock.put({
      ...{ format: 'pypi', codename: 'ours', name: 'app', version, arch: 'py3-none-any', state },
      filename: `App-${version}-py3-none-any.whl`,
      facts: { filetype: 'bdist_wheel', name: 'App', version, requires_dist: [], classifiers: ['x'.repeat(DESCRIBED)] },
      summary: 'x'.repeat(DESCRIBED),
      ...(version === '1.0' ? { others: { [`App-${version}-py3-none-any.whl.provenance`]: '{}' } } : {}),
    })
  for (let n = 0; n < VERSIONS; n++) await put(`1.${n}`)
  await put('2.0', 'pending_review')
  let read = 0
  const counted = <T>(found: T): T => {
    read += (JSON.stringify(found) ?? '').length
    return found
  }
  const { db, catalog, layout } = stock
  const counting = {
    query: async (...args: Parameters<typeof db.query>) => counted(await db.query(...args)),
    repeat: async (...args: Parameters<typeof db.repeat>) => counted(await db.repeat(...args)),
    first: async (...args: Parameters<typeof db.first>) => counted(await db.first(...args)),
  }
  const findKnown: typeof catalog.findKnown = async ref => counted(await catalog.findKnown(ref))
  const kept = createKeptDocuments({ clock: systemClock })
  const deps = { db: counting, catalog: { findKnown }, layout, kept } as unknown as ProtocolDeps
  const protocol = createPypi(deps)
  takeRead = () => {
    const now = read
    read = 0
    return now
  }
  ask = path => {
    const request: RegistryRequest = {
      ...{ method: 'GET', endsWithSlash: path.endsWith('/'), query: new URLSearchParams(), registry, asked: registry },
      segments: path.split('/').filter(one => one !== ''),
      headers: { accept: 'application/vnd.pypi.simple.v1+json' },
      body: Readable.from([]),
      caller: { who: undefined, viewer: ALL_SEEING, ip: '192.0.2.1', need: () => undefined },
      ...{ address: 'https://h/pypi/ours', console: 'https://h', requestId: 'r' },
      signal: new AbortController().signal,
    }
    return protocol.answer(request)
  }
})
afterAll(() => stock.close())

const bodyOf = (answer: RegistryAnswer | undefined): unknown => {
  const body = answer?.body
  if (body?.kind === 'bytes') return JSON.parse(String(body.bytes))
  return body?.kind === 'json' ? body.json : body
}

test('a file is read by its own version alone', async () => {
  expect(await ask('files/app/App-1.7-py3-none-any.whl')).toMatchObject({ status: 200, body: { kind: 'blob' } })
  expect(takeRead()).toBeLessThan(3 * DESCRIBED)
  expect(await ask('files/app/App-2.0-py3-none-any.whl')).toMatchObject({ status: 403 })
  for (const other of ['app-1.7-py3-none-any.whl', 'App-1.7-py2-none-any.whl', 'App-9-py3-none-any.whl', 'App.zip'])
    expect(await ask(`files/app/${other}`)).toMatchObject({ status: 404 })
  expect(await ask('files/app/App-1.0-py3-none-any.whl.provenance')).toMatchObject({ status: 200 })
  expect(await ask('files/app/App-1.1-py3-none-any.whl.provenance')).toMatchObject({ status: 404 })
})

test('the page of a project reads what it shows', async () => {
  takeRead()
  const page = bodyOf(await ask('simple/app/')) as {
    files: { filename: string; yanked: unknown; provenance: unknown }[]
  }
  expect(takeRead()).toBeLessThan(VERSIONS * 1_000)
  expect(page.files.map(({ filename }) => filename)).toEqual(
    [...Array.from({ length: VERSIONS }, (_, n) => `1.${n}`), '2.0'].map(version => `App-${version}-py3-none-any.whl`),
  )
  expect(page.files[0]).toMatchObject({ yanked: false, provenance: expect.stringMatching(/\.provenance$/) as string })
  expect(page.files.at(-1)).toMatchObject({
    yanked: expect.stringMatching(/^Held for review/) as string,
    provenance: null,
  })
  expect(await ask('simple/nothing/')).toMatchObject({ status: 404 })
})

test('the page of a project is made once, and again when a file of it changed', async () => {
  const before = await ask('simple/app/')
  takeRead()
  expect((await ask('simple/app/'))?.headers).toEqual(before?.headers)
  expect(takeRead()).toBeLessThan(200)
  await stock.put({
    ...{ format: 'pypi', codename: 'ours', name: 'app', version: '1.5', arch: 'sdist', state: 'published' },
    filename: 'App-1.5.tar.gz',
    facts: { filetype: 'sdist', name: 'App', version: '1.5', requires_dist: [] },
  })
  const after = await ask('simple/app/')
  expect(after?.headers?.['ETag']).not.toBe(before?.headers?.['ETag'])
  expect(bodyOf(after)).toMatchObject({
    files: expect.arrayContaining([expect.objectContaining({ filename: 'App-1.5.tar.gz' })]) as unknown,
  })
})

test('a page says at once that a version is yanked, and that it no longer is', async () => {
  const yanked = async (): Promise<unknown> => {
    const { files } = bodyOf(await ask('simple/app/')) as { files: { filename: string; yanked: unknown }[] }
    return files.find(({ filename }) => filename === 'App-1.3-py3-none-any.whl')?.yanked
  }
  const set = (reason: string | undefined) =>
    setMark(
      { db: stock.db, catalog: stock.catalog, formats: [pypi] },
      { registry, name: 'app', version: '1.3', who: { name: 'ada' }, ip: '192.0.2.1', viewer: ALL_SEEING },
      reason,
    )
  expect(await yanked()).toBe(false)
  await set('It loses data.')
  expect(await yanked()).toBe('It loses data.')
  await set(undefined)
  expect(await yanked()).toBe(false)
})

test('the JSON of a project reads the whole of one version', async () => {
  takeRead()
  const json = bodyOf(await ask('pypi/app/json'))
  expect(takeRead()).toBeLessThan(VERSIONS * 1_000 + 3 * DESCRIBED)
  expect(json).toMatchObject({
    info: { name: 'App', version: `1.${VERSIONS - 1}`, summary: 'x'.repeat(DESCRIBED), yanked: false },
    releases: { '2.0': [{ yanked: true, packagetype: 'bdist_wheel', python_version: 'py3' }] },
  })
  expect(bodyOf(await ask('pypi/app/1.3/json'))).toMatchObject({ info: { version: '1.3' }, urls: [{}] })
  for (const path of ['pypi/app/9/json', 'pypi/nothing/json']) expect(await ask(path)).toMatchObject({ status: 404 })
})

test('the list of names reads names alone', async () => {
  await stock.put({ format: 'pypi', codename: 'ours', name: 'base', version: '1', arch: 'sdist' })
  takeRead()
  expect(bodyOf(await ask('simple/'))).toMatchObject({ projects: [{ name: 'app' }, { name: 'base' }] })
  expect(takeRead()).toBeLessThan(100)
})
