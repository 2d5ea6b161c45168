import { expect, test } from 'vitest'
import { apart, createGroups, shareReads } from './groups.ts'

/** Groups of texts; those with the same first letter are rivals. The work of each group ends when told. */
function make(most: number) {
  const groups: string[][] = []
  const ends: (() => void)[] = []
  const { join } = createGroups<string, string>({
    most,
    keysOf: text => [text.slice(0, 1)],
    work: async items => {
      groups.push([...items])
      await new Promise<void>(resolve => ends.push(resolve))
      return items.map(item => (item.endsWith('!') ? { error: new Error(item) } : { value: item.toUpperCase() }))
    },
    concernsAll: () => true,
  })
  const begun = async (n: number): Promise<void> => {
    while (groups.length < n) await new Promise(resolve => setImmediate(resolve))
  }
  return { groups, ends, join, begun }
}

test('what is asked for while a group is at work becomes the next group, and each gets its own answer', async () => {
  const { groups, ends, join, begun } = make(10)
  const first = join('a')
  await begun(1)
  const more = ['b', 'c!', 'd'].map(text => join(text).catch((error: unknown) => String(error)))
  ends[0]?.()
  expect(await first).toBe('A')
  await begun(2)
  ends[1]?.()
  expect(await Promise.all(more)).toEqual(['B', 'Error: c!', 'D'])
  expect(groups).toEqual([['a'], ['b', 'c!', 'd']])
})

test('rivals never share a group and keep their order; a group has an upper bound', async () => {
  const { groups, ends, join, begun } = make(2)
  const all = ['a1', 'a2', 'b', 'c', 'a3'].map(join)
  for (let n = 1; n <= 3; n++) {
    await begun(n)
    ends[n - 1]?.()
  }
  await Promise.all(all)
  expect(groups).toEqual([['a1', 'b'], ['a2', 'c'], ['a3']])
})

test('when the work itself fails with what concerns all, each of its group fails, and the next group runs', async () => {
  let isBroken = true
  const tried: number[] = []
  const { join } = createGroups<string, string>({
    most: 10,
    keysOf: text => [text],
    work: async items => {
      tried.push(items.length)
      if (isBroken) throw new Error('broken')
      return items.map(value => ({ value }))
    },
    concernsAll: () => true,
  })
  const said = await Promise.all(['a', 'b'].map(text => join(text).catch((error: unknown) => String(error))))
  expect(said).toEqual(['Error: broken', 'Error: broken'])
  expect(tried).toEqual([2])
  isBroken = false
  expect(await join('c')).toBe('c')
})

test('one item with which the work fails does not take the others of its group with it', async () => {
  const tried: (readonly string[])[] = []
  const read = shareReads<string, string>(
    async keys => {
      tried.push(keys)
      if (keys.includes('bad')) throw new Error('cannot read that')
      return keys.map(key => key.toUpperCase())
    },
    () => false,
  )
  const said = await Promise.all(['a', 'bad', 'b'].map(key => read(key).catch((error: unknown) => String(error))))
  expect(said).toEqual(['A', 'Error: cannot read that', 'B'])
  expect(tried).toEqual([['a', 'bad', 'b'], ['a'], ['bad'], ['b']])
})

test('a read that runs is not shared by those who ask after it began', async () => {
  let committed = 'old'
  const ends: (() => void)[] = []
  const read = shareReads<string, string>(
    async keys => {
      const seen = committed
      await new Promise<void>(resolve => ends.push(resolve))
      return keys.map(() => seen)
    },
    () => false,
  )
  const first = read('a')
  while (ends.length < 1) await new Promise(resolve => setImmediate(resolve))
  committed = 'new'
  const second = read('a')
  ends[0]?.()
  expect(await first).toBe('old')
  while (ends.length < 2) await new Promise(resolve => setImmediate(resolve))
  ends[1]?.()
  expect(await second).toBe('new')
})

test('in rounds, no two have a key in common, and who comes later is in a later round', () => {
  const keysOf = (text: string): string[] => [...text]
  expect(apart(['ab', 'c', 'bd', 'd', 'a', 'e'], keysOf)).toEqual([['ab', 'c', 'e'], ['bd', 'a'], ['d']])
  expect(apart([], keysOf)).toEqual([])
})
