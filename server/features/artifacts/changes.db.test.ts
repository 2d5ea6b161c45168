import { expect, test } from 'vitest'
import { artifactRoutes } from '../../../test/support/artifact-routes.ts'
import { codeOf } from '../../../test/support/routes.ts'
import type { Stock } from '../../../test/support/test-catalog.ts'

let stock: Stock
const { call } = artifactRoutes(made => {
  stock = made
})
const sinceOf = async (version: string, query: Record<string, string> = {}): Promise<string | null> => {
  const { since } = await call('GET /artifacts/{name}/{version}/changes', { params: { name: 'hello', version }, query })
  return since === null ? null : `${since.version} ${since.distribution} ${since.arch}`
}

test('the version before is the newest served one below it, by the order of the format', async () => {
  for (const version of ['1.9', '1.10', '1.10~rc1']) await stock.put({ version })
  await stock.put({ version: '1.11', state: 'pending_review' })
  await stock.put({ version: '1.12', state: 'pending_review' })
  expect(await sinceOf('1.12')).toBe('1.10 jammy amd64')
  expect(await sinceOf('1.10')).toBe('1.10~rc1 jammy amd64')
})

test('the same distribution and architecture come before newer ones elsewhere', async () => {
  await stock.put({ version: '1.0' })
  await stock.put({ version: '1.5', arch: 'all' })
  await stock.put({ version: '1.8', codename: 'noble' })
  await stock.put({ version: '2.0' })
  await stock.put({ version: '2.0', arch: 'arm64' })
  expect(await sinceOf('2.0', { arch: 'amd64' })).toBe('1.0 jammy amd64')
  expect(await sinceOf('2.0', { arch: 'arm64' })).toBe('1.5 jammy all')
})

test('a first version has none to be compared with', async () => {
  await stock.put({ version: '1.0' })
  await stock.put({ version: '2.0', name: 'other' })
  expect(await call('GET /artifacts/{name}/{version}/changes', { params: { name: 'hello', version: '1.0' } })).toEqual({
    name: 'hello',
    version: '1.0',
    arch: 'amd64',
    distribution: 'jammy',
    format: 'deb',
    since: null,
    said: 'No earlier version is here to compare with.',
    install: null,
    changes: null,
  })
})

test('a version that is not there is said to be missing', async () => {
  await stock.put({ version: '1.0' })
  const missing = call('GET /artifacts/{name}/{version}/changes', { params: { name: 'hello', version: '3.0' } })
  expect(await codeOf(missing)).toBe('version_not_found')
})
