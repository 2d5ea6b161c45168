import { afterAll, beforeAll, expect, test } from 'vitest'
import { hostedRegistry } from '../../../test/support/defined-registries.ts'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import { findManifest } from '../../catalog/queries/store.ts'
import type { Codename, PackageRef } from '../../core/identity.ts'
import { SIGNED } from '../../core/signed-debt.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { migrate } from '../../db/migrate.ts'
import { DOCKER_IMAGE, IMAGE } from '../../formats/oci/document.ts'
import type { OciFacts } from '../../formats/oci/facts.ts'

let stock: Stock
const lookedAt: string[] = []
beforeAll(async () => {
  const registry = { ...hostedRegistry('jammy', 'oci'), builtin: true }
  stock = await createStock({ trees: () => false, repositories: { find: () => registry } })
  stock.outbox.handle(SIGNED, rests => {
    lookedAt.push(...rests)
    return Promise.resolve()
  })
})
afterAll(() => stock.close())

/** As a release does that starts for the first time. */
async function migrateAnew(): Promise<void> {
  await stock.outbox.drain()
  await stock.db.query(`delete from schema_migration where name = '0062-oci-anew'`)
  await migrate(stock.db)
  await stock.outbox.drain()
}
const put = async (version: string, more: Parameters<Stock['put']>[0]) =>
  (await stock.put({ format: 'oci', name: 'app', version: `sha256:${version}`, arch: 'artifact', ...more })).manifest

test('layers of what is quarantined go to quarantine, except those that something served has', async () => {
  const held = await put('held', { state: 'quarantined', others: { own: 'its own layer', shared: 'shared layer' } })
  await put('good', { others: { shared: 'shared layer' } })
  const [, own, shared] = held.files.map(({ blob }) => blob.sha256)
  if (own === undefined || shared === undefined) throw new Error('it has no layers')
  await stock.outbox.drain()
  // as earlier versions left it
  await stock.pool.release(own)
  expect([await stock.pool.has(own), await stock.pool.has(shared)]).toEqual(['pool', 'pool'])
  await migrateAnew()
  expect([await stock.pool.has(own), await stock.pool.has(shared)]).toEqual(['quarantine', 'pool'])
})

const digest = `sha256:${'a'.repeat(64)}`
const factsOf = (config: string, layer: string, media = IMAGE): Omit<OciFacts, 'kind'> & { kind: string } => ({
  ...{ kind: 'artifact', media_type: media, manifests: [], annotations: {}, stored_bytes: 2, opaque: [] },
  config: { mediaType: config, digest, size: 1 },
  layers: [{ mediaType: layer, digest, size: 1 }],
})
const HELM = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip'
const EMPTY = 'application/vnd.oci.empty.v1+json'

test.each([
  ['octets', factsOf('application/octet-stream', HELM), 'image'],
  ['layered', factsOf('application/vnd.unknown+json', 'application/vnd.oci.image.layer.v1.tar+gzip'), 'image'],
  ['docker', factsOf(EMPTY, HELM, DOCKER_IMAGE), 'image'],
  ['chart', factsOf(EMPTY, HELM), 'artifact'],
  ['odd', factsOf(EMPTY, 'application/vnd.ociximage.layer.v1'), 'artifact'],
])('what was kept as an artifact is what clients take it for: %s', async (version, facts, kind) => {
  const ref: PackageRef = {
    ...{ format: 'oci', name: 'app', version: `sha256:${version}`, arch: 'artifact' },
    codename: 'jammy' as Codename,
  }
  await put(version, { facts })
  lookedAt.length = 0
  await migrateAnew()
  expect((await findManifest(stock.db, ALL_SEEING, ref))?.facts).toEqual({ ...facts, kind })
  const kept = await stock.manifests.read(ref)
  expect(kept?.facts).toEqual({ ...facts, kind })
  expect(lookedAt).toEqual(kind === 'image' ? [`jammy app sha256:${version}`] : [])
})
