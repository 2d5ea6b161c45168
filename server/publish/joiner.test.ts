import { createHash, hash } from 'node:crypto'
import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createJoiner, type Joiner, type Part } from './joiner.ts'

let folder: string
let joiner: Joiner
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-joiner-'))
})
afterAll(() => rm(folder, { recursive: true }))
beforeEach(() => {
  joiner = createJoiner()
})
afterEach(() => joiner.close())

let made = 0
const bytesOf = (name: string, size: number): Buffer =>
  Buffer.from(createHash('shake256', { outputLength: size }).update(name).digest())

async function piece(name: string, size: number): Promise<Part> {
  const path = join(folder, `${name}-${size}`)
  await writeFile(path, bytesOf(name, size))
  return { id: `${name}-${size}`, path, size }
}

const contentOf = async (parts: readonly Part[]): Promise<Buffer> =>
  Buffer.concat(await Promise.all(parts.map(async part => ('bytes' in part ? part.bytes : readFile(part.path)))))

/** Joins to a new file and compares it with what it must be. @returns what the next version is told of this one */
async function proved(
  parts: readonly Part[],
  was?: { readonly path: string; readonly sha256: string },
): Promise<{ readonly path: string; readonly sha256: string }> {
  const out = join(folder, `out-${made++}`)
  const joined = await joiner.join([{ key: 'index', out, parts, was }])
  const content = await contentOf(parts)
  expect((await readFile(out)).equals(content)).toBe(true)
  const sha256 = hash('sha256', content)
  expect(joined).toEqual([{ size: content.length, sha256 }])
  return { path: out, sha256 }
}

describe('an index joined from pieces', () => {
  test('is the same whatever was joined before, with pieces changed, added and removed anywhere', async () => {
    const pieces = await Promise.all(
      Array.from({ length: 40 }, (_, n) => piece(`p${n}`, n % 7 === 0 ? 400_000 : 9_000 + n)),
    )
    const tail = (size: number): Part => ({ id: `tail ${size}`, bytes: bytesOf('tail', size) })
    let was = await proved([...pieces, tail(5)])
    for (const at of [0, 1, 20, 38, 39]) {
      was = await proved([...pieces.with(at, await piece(`other${at}`, 12_345)), tail(9)], was)
      was = await proved([...pieces.toSpliced(at, 1), tail(9)], was)
      was = await proved([...pieces.toSpliced(at, 0, await piece(`new${at}`, 700_000)), tail(5)], was)
      was = await proved([...pieces, tail(5)], was)
    }
    was = await proved([], was)
    await proved(pieces, was)
  })

  test('is read from its pieces where the version before is gone, cut short, or another one', async () => {
    const pieces = [await piece('a', 300_000), await piece('b', 300_000), await piece('c', 300_000)]
    const first = await proved(pieces)
    const second = await proved(pieces.toSpliced(1, 1), first)
    await rm(second.path)
    const third = await proved(pieces, second)
    await writeFile(first.path, 'something else')
    await proved(pieces.toSpliced(0, 1), { ...first, sha256: hash('sha256', 'something else') })
    await truncate(third.path, 400_000)
    await proved(pieces.toSpliced(2, 1), third)
  })

  test('of which only the digest is wanted is hashed from its first difference', async () => {
    const pieces = await Promise.all(Array.from({ length: 9 }, (_, n) => piece(`q${n}`, 200_000)))
    for (const parts of [pieces, pieces.toSpliced(5, 1), pieces.toSpliced(5, 1), pieces]) {
      const joined = await joiner.join([{ key: 'plain', parts }])
      const content = await contentOf(parts)
      expect(joined).toEqual([{ size: content.length, sha256: hash('sha256', content) }])
    }
  })

  test('fails when a piece was cut short, and the next attempt starts from what was good', async () => {
    const pieces = [await piece('x', 300_000), await piece('y', 300_000)]
    const was = await proved(pieces)
    const short = await piece('short', 10)
    const broken = [...pieces, { ...short, size: 20 }]
    await expect(joiner.join([{ key: 'index', out: join(folder, 'broken'), parts: broken, was }])).rejects.toThrow(
      'a piece of an index has 10 bytes, 20 were expected',
    )
    await proved([...pieces, short], was)
  })
})
