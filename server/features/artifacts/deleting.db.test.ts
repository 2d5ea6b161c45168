import { describe, expect, test } from 'vitest'
import { artifactRoutes } from '../../../test/support/artifact-routes.ts'
import type { Stock } from '../../../test/support/test-catalog.ts'
import { ALL_SEEING } from '../../core/viewer.ts'

let stock: Stock
const { call, names } = artifactRoutes(made => {
  stock = made
})

describe('deleting', () => {
  test('a version in several distributions is deleted in the named one or with all, never without a word', async () => {
    for (const codename of ['jammy', 'noble', 'focal']) await stock.put({ codename })
    await stock.put({ arch: 'arm64' })
    const remove = (query = {}) =>
      call('DELETE /artifacts/{name}/{version}', { params: { name: 'hello', version: '1.0' }, query })
    for (const query of [{}, { all: false }, { arch: 'amd64' }])
      await expect(remove(query)).rejects.toMatchObject({
        code: 'ambiguous_version',
        message:
          'hello 1.0 exists more than once (focal, jammy, noble). Say which is meant: distribution names one, all=true means each.',
      })
    expect(await names({})).toHaveLength(4)
    const where = async (query: object) =>
      (await remove(query)).deleted.map(one => `${one.distribution} ${one.arch}`).sort()
    expect(await where({ distribution: 'jammy' })).toEqual(['jammy amd64', 'jammy arm64'])
    expect(await where({ all: true })).toEqual(['focal amd64', 'noble amd64'])
  })

  test('a version in one distribution needs no more than its name, of whatever architectures', async () => {
    await stock.put()
    await stock.put({ arch: 'arm64' })
    const { deleted } = await call('DELETE /artifacts/{name}/{version}', { params: { name: 'hello', version: '1.0' } })
    expect(deleted.map(({ arch }) => arch).sort()).toEqual(['amd64', 'arm64'])
  })

  test('one version is deleted, the others stay, and the distribution is published again', async () => {
    await stock.put({ version: '1.0' })
    await stock.put({ version: '2.0' })
    await stock.outbox.drain()
    stock.published.length = 0
    expect(await call('DELETE /artifacts/{name}/{version}', { params: { name: 'hello', version: '1.0' } })).toEqual({
      status: 'deleted',
      published: true,
      deleted: [{ name: 'hello', version: '1.0', arch: 'amd64', distribution: 'jammy', format: 'deb' }],
    })
    expect(await names({})).toEqual(['hello 2.0'])
    expect(stock.published).toContain('jammy')
    const {
      items: [line],
    } = await stock.audit.search(ALL_SEEING, { page: 1, perPage: 1, action: 'DELETE' })
    expect(line).toMatchObject({
      user: 'mae',
      package: 'hello',
      version: '1.0',
      distribution: 'jammy',
      result: 'SUCCESS',
      ip: '192.0.2.7',
    })
  })

  test('all versions are deleted in every distribution, unless the query narrows it', async () => {
    for (const codename of ['jammy', 'noble'])
      for (const version of ['1.0', '2.0']) await stock.put({ version, codename })
    await stock.put({ name: 'hello-doc' })
    expect(
      (await call('DELETE /artifacts/{name}', { params: { name: 'hello' }, query: { distribution: 'noble' } })).deleted,
    ).toHaveLength(2)
    expect(
      (await call('DELETE /artifacts/{name}', { params: { name: 'hello' } })).deleted
        .map(one => `${one.version} ${one.distribution}`)
        .sort(),
    ).toEqual(['1.0 jammy', '2.0 jammy'])
    expect(await names({})).toEqual(['hello-doc 1.0'])
  })

  test('two deletions at once delete each package once and both succeed or find nothing', async () => {
    for (let n = 0; n < 6; n++) await stock.put({ version: `${n}` })
    const both = await Promise.allSettled(
      [1, 2].map(() => call('DELETE /artifacts/{name}', { params: { name: 'hello' } })),
    )
    const deleted = both.flatMap(one => (one.status === 'fulfilled' ? one.value.deleted.map(ref => ref.version) : []))
    expect(deleted.sort()).toEqual(['0', '1', '2', '3', '4', '5'])
  })
})

test('sync-index brings back what the manifests say, and writes it down', async () => {
  await stock.put()
  await stock.outbox.drain()
  await stock.db.query('delete from package')
  await stock.db.query('delete from artifact')
  expect(await call('POST /artifacts/admin/sync-index')).toEqual({
    status: 'ok',
    manifests: 1,
    added: 1,
    changed: 0,
    removed: 0,
    unreadable: 0,
  })
  expect(await names({})).toEqual(['hello 1.0'])
  expect((await stock.audit.search(ALL_SEEING, { page: 1, perPage: 1 })).items[0]).toMatchObject({
    action: 'SYNC_INDEX',
    result: 'SUCCESS',
    user: 'mae',
  })
})
