import { describe, expect, test } from 'vitest'
import { jsonItems } from './json-items.ts'

const LIMITS = { what: 'the file', maxItemBytes: 100 }

async function read(text: string, size = 3): Promise<{ readonly items: unknown[]; readonly head: unknown }> {
  async function* chunks(): AsyncGenerator<Buffer> {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  const reading = jsonItems(chunks(), LIMITS)
  const items: unknown[] = []
  for (;;) {
    const { done, value } = await reading.next()
    if (done === true) return { items, head: value }
    items.push(value)
  }
}

describe('the items of a large document', () => {
  test.each<[string, string, unknown[], unknown]>([
    [
      'objects of a list',
      '{"v":"2","l":[{"a":[1,{"b":"]}"}]},\n {"ü":"\\"["}]}',
      [{ a: [1, { b: ']}' }] }, { ü: '"[' }],
      { v: '2', l: [] },
    ],
    ['an empty list', '{"l":[],"t":1}', [], { l: [], t: 1 }],
    ['other objects stay', '{"m":{"x":[1]},"l":[{}]}', [{}], { m: { x: [1] }, l: [] }],
  ])('%s', async (_, text, items, head) => {
    for (const size of [1, 3, 1_000]) expect(await read(text, size)).toEqual({ items, head })
  })
  test.each([
    ['{"l":[{"a":1}', 'the file is cut off'],
    ['{"l":[{"a":1},5]}', 'the file lists something that is no object'],
    ['{"l":[{"a":}]}', 'the file is damaged: a part of it is no JSON'],
    ['{"l":[]}]', 'the file is no JSON object'],
    ['text', 'the file is damaged: a part of it is no JSON'],
    [`{"l":[{"a":"${'x'.repeat(200)}"}]}`, 'the file has a part that is larger than allowed'],
  ])('%s is refused', async (text, why) => {
    await expect(read(text)).rejects.toThrow(why)
  })
})
