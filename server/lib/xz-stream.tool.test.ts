import { xz } from '@napi-rs/lzma'
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { readBlocks, xzHeader, xzTail } from './xz-stream.ts'

const hasXz = spawnSync('xz', ['--version']).status === 0

async function joined(texts: readonly string[]): Promise<Buffer> {
  const streams = await Promise.all(texts.map(async text => readBlocks(await xz.compress(text))))
  const flags = streams[0]?.flags ?? Buffer.from([0, 4])
  const blocks = streams.flatMap(stream => stream.blocks)
  return Buffer.concat([xzHeader(flags), ...blocks.map(block => block.data), xzTail(flags, blocks)])
}

test.each([0, 1, 2, 3, 200])('%i pieces joined are one stream that the library reads whole', async count => {
  const texts = Array.from({ length: count }, (_, n) => `Package: p${n}\n`.repeat(1 + n * 13 % 97))
  const stream = await joined(texts)
  expect((await xz.decompress(stream)).toString()).toBe(texts.join(''))
  if (!hasXz) return
  expect(spawnSync('xz', ['-t'], { input: stream }).status).toBe(0)
  expect(spawnSync('xz', ['-dc'], { input: stream, maxBuffer: 1 << 26 }).stdout.toString()).toBe(texts.join(''))
})

test('what is not exactly one stream is refused', async () => {
  const stream = await xz.compress('hello')
  for (const bad of [Buffer.from('hello'), stream.subarray(1), stream.subarray(0, -1)]) expect(() => readBlocks(bad)).toThrow('not one xz stream')
})
