import { readFile, writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import { DEFAULT_DISTRIBUTIONS } from '../../core/default-distributions.ts'
import type { Codename } from '../../core/identity.ts'
import { createRepositories, type Distribution, type Repositories } from '../../core/repository.ts'
import { createDefinitions, type Definitions } from '../../files/definitions.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import { inTurn, refuseUsed, remove, save, settleDefinition, type OwnDistributionDeps } from './changes.ts'

const ACME = 'acme' as Codename
const BY = { name: 'ada', ip: '192.0.2.1' }

let stock: Stock
let repositories: Repositories
let definitions: Definitions
let deps: OwnDistributionDeps
beforeEach(async () => {
  stock = await createStock()
  const { db, layout, audit, outbox, clock } = stock
  repositories = createRepositories(DEFAULT_DISTRIBUTIONS)
  definitions = createDefinitions(db, layout)
  deps = {
    ...{
      db,
      audit,
      outbox,
      clock,
      repositories,
      definitions,
      formats: [],
      scanners: () => Promise.resolve([]),
      lock: createKeyedLock(),
    },
    removeTrees: () => Promise.resolve(),
    alone: (_, work) => work(),
  }
})
afterEach(() => stock.close())

const acme = (more: Partial<Distribution> = {}): Distribution => ({
  ...{ ...repositories.get('jammy'), codename: ACME, builtin: false, components: ['main', 'extra'] },
  ...more,
})
const add = (one = acme()): Promise<unknown> => inTurn(deps, ACME, () => save(deps, one, { by: BY, kind: 'added' }))
const change = (after: Distribution): Promise<unknown> =>
  inTurn(deps, ACME, async () => {
    const before = repositories.need(ACME)
    return save(deps, after, { by: BY, kind: 'changed', check: tx => refuseUsed(tx, before, after) })
  })
const drop = (): Promise<unknown> => inTurn(deps, ACME, () => remove(deps, ACME, BY))
const refusals = async (work: readonly Promise<unknown>[]): Promise<unknown[]> =>
  (await Promise.allSettled(work)).map(one =>
    one.status === 'fulfilled' ? undefined : (one.reason as { code?: unknown }).code,
  )
const countPackages = async (): Promise<number> =>
  (await stock.db.query(`select 1 from package where codename = 'acme'`)).length

describe('two at once', () => {
  test('an upload beside the removal: one of them is refused, and no package is of no distribution', async () => {
    const ends = new Set<string>()
    for (let round = 0; round < 12; round++) {
      await add()
      const put = (): Promise<unknown> => stock.put({ name: `p${round}`, codename: ACME })
      const [first, second] = round % 2 === 0 ? [put, drop] : [drop, put]
      const codes = await refusals([first(), second()])
      ends.add(codes.filter(code => code !== undefined).join())
      const isThere = repositories.find(ACME) !== undefined
      expect([codes.filter(code => code === undefined).length, await countPackages()]).toEqual([1, isThere ? 1 : 0])
      if (!isThere) continue
      const ref = { format: 'deb' as const, name: `p${round}`, version: '1.0', arch: 'amd64', codename: ACME }
      await stock.catalog.change({ kind: 'delete', ref, why: '' }, { name: 'ada' })
      await drop()
    }
    for (const code of ends) expect(['distribution_in_use', 'distribution_not_found']).toContain(code)
  })

  test('an upload beside a change that takes its component away: one of them is refused', async () => {
    for (let round = 0; round < 6; round++) {
      await add()
      const put = stock.put({ name: `p${round}`, codename: ACME, component: 'extra' })
      const codes = await refusals([put, change(acme({ components: ['main'] }))])
      const [placed, changed] = codes
      expect(codes).toEqual(placed === undefined ? [undefined, 'distribution_in_use'] : ['bad_component', changed])
      expect(codes).toContain(undefined)
      await stock.db.query(`delete from package where codename = 'acme'`)
      await drop()
    }
  })

  test('a name that a registry took meanwhile is refused, and the registry stays', async () => {
    const registry = acme({ kind: 'registry', registry: { kind: 'hosted' }, label: 'Registry' })
    await stock.db.tx(tx => definitions.save(tx, registry, 'ada', new Date()))
    expect(await refusals([add()])).toEqual(['distribution_exists'])
    expect(await definitions.load()).toEqual([JSON.parse(JSON.stringify(registry))])
  })

  test('two changes are made one after the other, and the file says what the database says', async () => {
    await add()
    await Promise.all([change(acme({ label: 'One' })), change(acme({ label: 'Two' }))])
    expect(repositories.need(ACME).label).toBe('Two')
    expect(JSON.parse(await readFile(stock.layout.distributionsFile, 'utf8'))).toEqual(await definitions.load())
  })
})

describe('a change that was stopped', () => {
  test('after the removal of the only one: it does not come back from its file, and its trees go at the next start', async () => {
    await stock.outbox.stop()
    const stopped = { ...deps, removeTrees: () => Promise.reject(new Error('stopped')) }
    await add()
    await stock.db.query(`delete from outbox where key like 'distribution:%'`)
    await expect(inTurn(stopped, ACME, () => remove(stopped, ACME, BY))).rejects.toThrow('stopped')
    expect(JSON.parse(await readFile(stock.layout.distributionsFile, 'utf8'))).toHaveLength(1)
    repositories.replace(await definitions.load())
    expect(repositories.find(ACME)).toBeUndefined()
    const [{ key = '' } = {}] = await stock.db.query<{ key: string }>(
      `select key from outbox where key like 'distribution:%'`,
    )
    const removed: unknown[] = []
    const removeTrees = (one: unknown): Promise<void> => Promise.resolve(void removed.push(one))
    await settleDefinition({ ...deps, removeTrees }, key.slice('distribution:'.length))
    expect(removed).toEqual([{ format: 'deb', codename: ACME }])
    expect(JSON.parse(await readFile(stock.layout.distributionsFile, 'utf8'))).toEqual([])
  })

  test('leaves no setting to a later one of the name', async () => {
    await stock.db.query(`insert into distribution (codename, valid_days) values ('acme', 7)`)
    await add()
    expect(await stock.db.query('select codename from distribution')).toEqual([])
  })

  test('whose file is torn, with a database that has none: the start says what to do', async () => {
    await writeFile(stock.layout.distributionsFile, '[{"codename": "ac')
    await expect(definitions.load()).rejects.toThrow(/distributions\.json cannot be read, .* Put the file back/)
    await stock.db.query(`insert into distribution_definition values ('acme', $1, 'ada', now())`, [
      JSON.stringify(acme()),
    ])
    expect(await definitions.load()).toMatchObject([{ codename: ACME }])
  })
})
