import { describe, expect, test } from 'vitest'
import { cut, isBoundary, plan, splice, type Rendered, type Shard } from './shards.ts'

/** A small generator with a seed, so that a failure can be run again. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = Math.imul(state ^ (state >>> 15), state | 1)
    state ^= state + Math.imul(state ^ (state >>> 7), state | 61)
    return ((state ^ (state >>> 14)) >>> 0) / 4294967296
  }
}

const textOf = (name: string, version: number): Rendered => ({
  name,
  text: `Package: ${name}\nVersion: ${version}\n\n`,
})
const sorted = (packages: ReadonlyMap<string, number>): Rendered[] =>
  [...packages].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, version]) => textOf(name, version))
const shardsOf = (packages: ReadonlyMap<string, number>): Shard[] => cut(sorted(packages)).map(one => one.shard)

describe('cutting an index', () => {
  test('is complete and in order, keeps versions of a name together and makes pieces of about 64 names', () => {
    const entries = Array.from({ length: 20_000 }, (_, n) => textOf(`package-${String(n >> 1).padStart(6, '0')}`, n))
    const cuts = cut(entries)
    expect(cuts.map(one => one.text).join('')).toBe(entries.map(entry => entry.text).join(''))
    for (const one of cuts.slice(1)) expect(isBoundary(one.shard.from)).toBe(true)
    const names = cuts.flatMap(one => one.names)
    expect(new Set(names).size).toBe(names.length)
    expect(cuts.length).toBeGreaterThan(100)
    expect(cuts.length).toBeLessThan(250)
  })

  test('gives the same pieces whatever the way there: rewriting the planned ranges equals cutting everything again', () => {
    const random = seeded(20_261_121)
    const pool = Array.from({ length: 6_000 }, (_, n) => `p${((n * 7919) % 6_000).toString(36)}`)
    const boundaries = pool.filter(isBoundary)
    const packages = new Map<string, number>(pool.slice(0, 3_000).map(name => [name, 1]))
    let shards = shardsOf(packages)
    for (let round = 0; round < 200; round++) {
      const dirty = new Set<string>()
      for (let n = 0; n < 1 + Math.floor(random() * 4); n++) {
        const from = random() < 0.4 ? boundaries : pool
        const name = from[Math.floor(random() * from.length)] ?? ''
        dirty.add(name)
        if (random() < 0.5) packages.delete(name)
        else packages.set(name, round)
      }
      const ranges = plan(shards, dirty)
      expect(ranges.flatMap(range => range.names)).toEqual([...dirty].sort())
      const changes = ranges.map(range => ({
        range,
        shards: cut(
          sorted(packages).filter(({ name }) => name >= range.from && (range.to === undefined || name < range.to)),
        ).map(one => one.shard),
      }))
      shards = splice(shards, changes)
      expect(shards).toEqual(shardsOf(packages))
    }
  })

  test('of no packages has no pieces, and the first package makes the first piece', () => {
    expect(cut([])).toEqual([])
    expect(plan([], []), 'a part that nothing changed in is not read').toEqual([])
    const range = { from: 'hello', to: 'xz\u0001', shards: [0, 0], names: ['hello', 'jq', 'xz'] } as const
    expect(plan([], ['xz', 'hello', 'jq'])).toEqual([range])
    expect(splice([], [{ range, shards: shardsOf(new Map([['hello', 1]])) }])).toHaveLength(1)
  })
})
