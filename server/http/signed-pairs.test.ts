import { mkdir, mkdtemp, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Codename } from '../core/identity.ts'
import { createPairs, type Half, type Pairs } from './signed-pairs.ts'

let folder: string
let now: number
let pairs: Pairs
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-pairs-'))
  now = 0
  pairs = createPairs({ layout: { live: codename => join(folder, codename) }, now: () => now })
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const codename = 'almalinux9' as Codename
async function goLive(n: number): Promise<void> {
  await mkdir(folder, { recursive: true })
  await symlink(`../../trees/${codename}/${n}`, join(folder, 'new'))
  await rename(join(folder, 'new'), join(folder, codename))
}
const ask = (part: Half['part'], more: Partial<Half> = {}): Promise<number | undefined> =>
  pairs.generation({ codename, pair: 'x86_64', part, client: '192.0.2.1', agent: 'libdnf', ...more })

describe('the two halves of a signed index', () => {
  test('come from one generation, whatever is published in between; the next pair is the new one', async () => {
    await goLive(1)
    expect(await ask('index')).toBe(1)
    await goLive(2)
    expect(await ask('signature')).toBe(1)
    expect(await ask('index')).toBe(2)
    expect(await ask('signature')).toBe(2)
    expect(await ask('signature'), 'asked for once more').toBe(2)
  })

  test('for zypper the signature is the first; an index alone is always the live one', async () => {
    const agent = 'ZYpp 17.31.2 (curl 8.0.1) openSUSE-Leap-15.6-x86_64'
    await goLive(1)
    expect(await ask('index', { agent })).toBe(1)
    await goLive(2)
    expect(await ask('signature', { agent })).toBe(2)
    await goLive(3)
    expect(await ask('index', { agent })).toBe(2)
    expect(await ask('index', { agent })).toBe(3)
  })

  test('are never held for longer than ten seconds, nor for another client, program or tree', async () => {
    await goLive(1)
    await ask('index')
    await goLive(2)
    for (const more of [{ client: '192.0.2.2' }, { agent: 'other' }, { pair: 'aarch64' }])
      expect(await ask('signature', more)).toBe(2)
    now = 10_000
    expect(await ask('signature')).toBe(2)
  })

  test('are undefined where nothing is published', async () => {
    expect(await ask('index')).toBeUndefined()
    expect(await ask('signature')).toBeUndefined()
  })
})
