import { createHash } from 'node:crypto'
import { appendFile, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { NOTHING, type Contents } from './component.ts'
import { createKept } from './kept.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-kept-'))
})
afterEach(() => rm(folder, { recursive: true }))

const digestOf = (n: number): string => createHash('sha256').update(String(n)).digest('hex')
const LEFT: Contents = { components: [], unopened: [{ path: 'opt/a.zip', size: 3, why: 'It is encrypted.' }] }

describe('what was read of packages', () => {
  test('is found again after a restart; of packages that carry nothing, in 32 bytes each', async () => {
    const kept = createKept(folder, 'v1')
    expect(await kept.find(digestOf(1))).toBeUndefined()
    await Promise.all(Array.from({ length: 100 }, (_, n) => kept.add(digestOf(n), { ...NOTHING, hasPrograms: true })))
    await kept.add(digestOf(7), NOTHING)
    await kept.add(digestOf(200), LEFT)
    expect((await stat(join(folder, 'v1', 'empty'))).size).toBe(100 * 32)
    for (const one of [kept, createKept(folder, 'v1')])
      expect([await one.find(digestOf(7)), await one.find(digestOf(99)), await one.find(digestOf(200))]).toEqual([
        NOTHING,
        NOTHING,
        LEFT,
      ])
  })

  test('what was not read to its end is never kept as nothing', async () => {
    const kept = createKept(folder, 'v1')
    const cut: Contents = { ...NOTHING, cut: 'The rest was not read.' }
    await kept.add(digestOf(1), cut)
    await kept.add(digestOf(2), { ...NOTHING, more: 3 })
    expect([await kept.find(digestOf(1)), await kept.find(digestOf(2))]).toEqual([cut, { ...NOTHING, more: 3 }])
  })

  test('a digest that a kill cut off is read again, and those after it are found', async () => {
    await createKept(folder, 'v1').add(digestOf(1), NOTHING)
    await appendFile(join(folder, 'v1', 'empty'), Buffer.from(digestOf(2), 'hex').subarray(0, 20))
    const kept = createKept(folder, 'v1')
    expect(await kept.find(digestOf(2))).toBeUndefined()
    await kept.add(digestOf(3), NOTHING)
    const next = createKept(folder, 'v1')
    expect([await next.find(digestOf(1)), await next.find(digestOf(2)), await next.find(digestOf(3))]).toEqual([
      NOTHING,
      undefined,
      NOTHING,
    ])
  })

  test('goes with the readers that found it', async () => {
    await createKept(folder, 'v1').add(digestOf(1), NOTHING)
    const kept = createKept(folder, 'v2')
    expect(await kept.find(digestOf(1))).toBeUndefined()
    await kept.add(digestOf(2), LEFT)
    expect(await readdir(folder)).toEqual(['v2'])
  })
})
