import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createReserve, type Reserve } from './reserve.ts'

const MB = 1024 ** 2
const { signal } = new AbortController()
let root: string
let reserve: Reserve
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'reserve-'))
  reserve = createReserve({ root, reserve: join(root, '.reserve') })
})
afterEach(() => rm(root, { recursive: true, force: true }))
const blocks = async (): Promise<number> => (await stat(join(root, '.reserve'))).blocks * 512

test('it occupies what it says, with bytes that nothing can compress, and grows and shrinks with the setting', async () => {
  expect(await reserve.size()).toBe(0)
  expect(await reserve.make(9 * MB, 0, signal)).toBe(true)
  expect([await reserve.size(), (await blocks()) >= 9 * MB]).toEqual([9 * MB, true])
  const bytes = await readFile(join(root, '.reserve'))
  expect(new Set(Array.from({ length: 9 }, (_, n) => bytes.subarray(n * MB, n * MB + 64).toString('hex'))).size).toBe(9)
  for (const wanted of [12 * MB, 5 * MB, 5 * MB]) {
    expect([await reserve.make(wanted, 0, signal), await reserve.size()]).toEqual([true, wanted])
    expect(await blocks()).toBeGreaterThanOrEqual(wanted)
  }
  expect([await reserve.make(0, 0, signal), await reserve.size()]).toEqual([true, 0])
})

test('it is not made where too little would stay free, and takes nothing then', async () => {
  expect([await reserve.make(MB, 1e18, signal), await reserve.size()]).toEqual([false, 0])
  await reserve.make(MB, 0, signal)
  expect([await reserve.make(2 * MB, 1e18, signal), await reserve.size()]).toEqual([false, MB])
})

test('it is given back once, and a run that is stopped leaves a smaller one', async () => {
  await reserve.make(2 * MB, 0, signal)
  await expect(reserve.make(9 * MB, 0, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped')
  expect(await reserve.size()).toBe(2 * MB)
  expect([await reserve.giveBack(), await reserve.giveBack(), await reserve.size()]).toEqual([2 * MB, 0, 0])
})
