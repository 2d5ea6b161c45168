import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createStock, type Stock } from '../../test/support/test-catalog.ts'
import type { Codename, PackageRef } from '../core/identity.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { hasTree } from '../formats/index.ts'
import { createRebuild } from './rebuild.ts'

let stock: Stock
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())
beforeEach(() => stock.clear())

const ref = (version: string): PackageRef => ({
  format: 'deb',
  name: 'hello',
  version,
  arch: 'amd64',
  codename: 'jammy' as Codename,
})
const find = (version: string) => stock.catalog.find(ALL_SEEING, ref(version))
const everything = () =>
  stock.db.query(`select p.name, p.version, p.manifest, p.facts, p.held_at, p.open_worst,
    array(select provides from package_offer where package_id = p.id order by 1) as offers,
    array(select path || sha256 from package_file where package_id = p.id order by 1) as files,
    array(select cve from finding where package_id = p.id order by 1) as findings from package p order by 1, 2`)

test('many manifests become the rows that uploads wrote, with the list of names', async () => {
  for (let n = 0; n < 40; n++)
    await stock.put({
      name: `ware-${n % 8}`,
      version: `${n}`,
      state: n % 7 === 3 ? 'pending_review' : 'published',
      findings:
        n % 5 === 0 ? [{ id: `CVE-2026-${n}`, severity: 'high', package: 'ware', source: 'test' } as never] : [],
      provides: [{ name: `virtual-${n}` }],
    })
  await stock.outbox.drain()
  const artifacts = () =>
    stock.db.query('select name, versions, latest, summary, updated_at from artifact order by name')
  const before = [await everything(), await artifacts()]
  await stock.db.query('delete from package')
  await stock.db.query('delete from artifact')
  const steps: string[] = []
  const done = await createRebuild({ ...stock, hasTree })(ALL_SEEING, (read, of) => steps.push(`${read} of ${of}`))
  expect(done).toEqual({ manifests: 40, added: 40, changed: 0, removed: 0, broken: [] })
  expect([await everything(), await artifacts()]).toEqual(before)
  expect(steps).toEqual(['32 of 40', '40 of 40'])
})

test('a package that arrives meanwhile stays, though its manifest is not yet on disk', async () => {
  const drain = async (): Promise<void> => {
    await stock.outbox.drain()
    await stock.put({ version: '2.0' })
  }
  await stock.put({ version: '1.0' })
  const rebuild = createRebuild({ ...stock, outbox: { ...stock.outbox, drain }, hasTree })
  expect(await rebuild(ALL_SEEING)).toMatchObject({ added: 0, changed: 0, removed: 0 })
  expect(await find('2.0')).toBeDefined()
})

test('a decision that is taken meanwhile is not undone by the manifest from before', async () => {
  const { manifest } = await stock.put({ version: '1.0', state: 'pending_review' })
  const after = { ...manifest, state: 'published' as const }
  async function* walk() {
    await stock.db.query(`update package set state = 'published', changed_at = now(), manifest = $1`, [
      JSON.stringify(after),
    ])
    yield { manifest: { ...manifest, state: 'quarantined' as const }, path: 'deb/jammy/hello/1.0_amd64.json' }
  }
  const rebuild = createRebuild({ ...stock, manifests: { ...stock.manifests, walk }, hasTree })
  expect(await rebuild(ALL_SEEING)).toMatchObject({ changed: 0 })
  expect((await find('1.0'))?.state).toBe('published')
})

test('one that was interrupted lists the names of rows that it had written', async () => {
  await stock.put({ version: '1.0' })
  await stock.outbox.drain()
  await stock.db.query('delete from artifact')
  await writeFile(stock.layout.rebuilding, '')
  await createRebuild({ ...stock, hasTree })(ALL_SEEING)
  expect(await stock.db.query('select name, versions from artifact')).toEqual([{ name: 'hello', versions: 1 }])
  expect(existsSync(stock.layout.rebuilding)).toBe(false)
})
