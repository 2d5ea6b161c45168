import { afterAll, beforeAll, expect, test } from 'vitest'
import { hostedRegistry } from '../../test/support/defined-registries.ts'
import { proxyRegistry } from '../../test/support/registry-upstream.ts'
import { createStock, type Item, type Stock } from '../../test/support/test-catalog.ts'
import { createRebuild } from '../catalog/rebuild.ts'
import { DEFAULT_DISTRIBUTIONS } from '../core/default-distributions.ts'
import { createRepositories, type Distribution, type Repositories } from '../core/repository.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { ownersOf, ownersOfEach } from './owned.ts'

const FORMATS = ['npm', 'pypi', 'maven', 'oci'] as const
const repositories: Repositories = createRepositories(DEFAULT_DISTRIBUTIONS)
let stock: Stock
beforeAll(async () => {
  stock = await createStock({ trees: () => false, repositories })
  const registries: readonly Distribution[] = [
    ...FORMATS.map(format => hostedRegistry(`ours-${format}`, format)),
    hostedRegistry('theirs', 'npm'),
    proxyRegistry('outside', 'npm', { url: 'https://registry.example' }),
    { ...hostedRegistry('reserving', 'maven'), registry: { kind: 'hosted', reserved: ['com.reserved.*'] } },
  ]
  repositories.replace(registries)
  for (const one of registries)
    await stock.db.query(
      `insert into distribution_definition (codename, definition, changed_by, changed_at) values ($1, $2, 'ada', now())`,
      [one.codename, JSON.stringify(one)],
    )
})
afterAll(() => stock.close())

const put = (format: string, codename: string, name: string, more: Item = {}) =>
  stock.put({ format, codename, name, version: '1.0.0', arch: 'any', ...more })
const deps = () => ({ db: stock.db, repositories })
async function ownersIn(format: string, name: string): Promise<string> {
  const { hosted, reserving: by } = await ownersOf(deps(), { format, name })
  return [...hosted, ...by.map(one => ({ codename: `reserved by ${one.codename}` }))]
    .map(({ codename }) => codename)
    .join(', ')
}

test('a version in any state makes its name one of its hosted registry, and of no other kind', async () => {
  const states = ['published', 'pending_review', 'quarantined', 'rejected'] as const
  for (const state of states) await put('npm', 'ours-npm', `is-${state}`, { state })
  await put('npm', 'outside', 'calm')
  await put('deb', 'jammy', 'hello', { arch: 'amd64' })
  for (const state of states) expect(await ownersIn('npm', `is-${state}`)).toBe('ours-npm')
  expect(await ownersIn('npm', 'calm')).toBe('')
  const kept = await stock.db.query<{ name: string }>('select name from registry_owned_name')
  expect(kept.map(({ name }) => name).toSorted()).toEqual(states.map(state => `is-${state}`).toSorted())
  await put('npm', 'theirs', 'is-published')
  expect(await ownersIn('npm', 'is-published')).toBe('ours-npm, theirs')
  expect(await ownersIn('pypi', 'is-published')).toBe('')
})

const spellings: readonly (readonly [(typeof FORMATS)[number], string, string, boolean])[] = [
  ['npm', '@ours/lib', '@OURS/Lib', true],
  ['npm', 'our-lib', 'our_lib', false],
  ['npm', '@ours/lib', 'lib', false],
  ['pypi', 'our-lib', 'Our__Lib', true],
  ['pypi', 'our-lib', 'our.lib', true],
  ['pypi', 'our-lib', 'ourlib', false],
  ['maven', 'com.ours:lib', 'com.ours:lib', true],
  ['maven', 'com.ours:lib', 'com.Ours:LIB', true],
  ['maven', 'com.ours:lib', 'com.ours:other', false],
  ['maven', 'com.ours:lib', 'com.ours.lib:lib', false],
  ['oci', 'team/app', 'team/app', true],
  ['oci', 'team/app', 'app', false],
]
test.each(spellings)('of %s, who has %s has %s: %j', async (format, has, asked, is) => {
  await put(format, `ours-${format}`, has)
  expect(await ownersIn(format, asked)).toBe(is ? `ours-${format}` : '')
})

test('many names are looked up at once, each with the registries that have or reserve it', async () => {
  await put('maven', 'ours-maven', 'com.reserved:lib')
  await put('maven', 'ours-maven', 'org.other:Tool')
  const names = ['com.reserved:lib', 'com.reserved.deep:x', 'org.other:tool', 'org.nobody:x']
  const ownersFor = await ownersOfEach(deps(), { format: 'maven', names })
  const codenamesOf = (all: readonly Distribution[]) => all.map(({ codename }) => codename)
  expect(names.map(ownersFor).map(of => [codenamesOf(of.hosted), codenamesOf(of.reserving)])).toEqual([
    [['ours-maven'], ['reserving']],
    [[], ['reserving']],
    [['ours-maven'], []],
    [[], []],
  ])
})

test('a database made again from the files knows the names of the versions that are there', async () => {
  await put('pypi', 'ours-pypi', 'kept')
  await stock.outbox.drain()
  await stock.db.query('delete from package')
  await stock.db.query('delete from registry_owned_name')
  expect(await ownersIn('pypi', 'kept')).toBe('')
  await createRebuild({ ...stock, hasTree: () => false })(ALL_SEEING)
  expect(await ownersIn('pypi', 'kept')).toBe('ours-pypi')
})
