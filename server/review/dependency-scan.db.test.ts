import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createStock, type Stock } from '../../test/support/test-catalog.ts'
import { CANDIDATE_LINES } from '../sbom/lockfiles.ts'
import { createDependencyScan } from './dependency-scan.ts'

let stock: Stock
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())
beforeEach(() => stock.clear())

const errors: unknown[] = []
function scan(look: (name: string) => 'same' | 'held' | 'unavailable' = () => 'same') {
  const looked: string[] = []
  const { run } = createDependencyScan({
    db: stock.db,
    candidates: CANDIDATE_LINES,
    log: {
      error: (facts: unknown) => {
        errors.push(facts)
      },
    },
    look: async ({ ref, facts }) => {
      looked.push(ref.name)
      expect(facts).toBeDefined()
      return look(ref.name)
    },
  })
  return { looked, run }
}
async function put(
  name: string,
  files: readonly string[],
  state: 'published' | 'quarantined' = 'published',
): Promise<void> {
  await stock.put({ name, state })
  await stock.db.query('update package set paths = $2 where name = $1', [name, files.join('\n')])
}

test('only packages that may carry libraries are scanned, each once, and new ones later', async () => {
  await put('plain', ['usr/bin/plain', 'usr/share/doc/requirements'])
  await put('app', ['usr/bin/app', 'opt/app/package-lock.json', 'usr/share/x'])
  await put('jar', ['usr/share/app/x.jar'])
  await put('bad', ['opt/x.jar'], 'quarantined')
  const { looked, run } = scan(name => (name === 'app' ? 'held' : 'unavailable'))
  expect(await run()).toEqual({ looked: 2, held: 1, unavailable: 1 })
  await put('later', ['go.mod'])
  expect(await run()).toEqual({ looked: 1, held: 0, unavailable: 1 })
  expect(looked).toEqual(['app', 'jar', 'later'])
})

test('a package that was rescanned since is left to the nightly job, also after a start', async () => {
  await put('app', ['opt/app/yarn.lock'])
  await stock.db.query('update package set scanned_at = now()')
  expect(await scan().run()).toEqual({ looked: 0, held: 0, unavailable: 0 })
})

test('a package that cannot be scanned does not delay the others', async () => {
  await put('a', ['a.jar'])
  await put('b', ['b.jar'])
  const { looked, run } = scan(name => {
    if (name === 'a') throw new Error('broken')
    return 'same'
  })
  await run()
  expect([looked, errors]).toEqual([['a', 'b'], [expect.objectContaining({ package: 'a' })]])
})
