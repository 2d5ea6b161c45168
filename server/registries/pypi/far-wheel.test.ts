import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { buildWheel, metadataText, wheelName } from '../../../test/support/packages-pypi.ts'
import { readFileName, type FileName } from '../../formats/pypi/names.ts'
import { readContentRange, readFarMetadata, type AskRange, type Range } from './far-wheel.ts'

const spec = { name: 'far', version: '1.0', description: 'Read from afar.\n' }
const named = readFileName(wheelName(spec)) as FileName
const many = Object.fromEntries(
  Array.from({ length: 3_000 }, (_, n) => [`far/module_${'x'.repeat(40)}_${n}.py`, 'x\n']),
)

/** A server of these bytes that keeps what it was asked. @param change  what comes in place of an answer */
function serve(bytes: Buffer, change: (range: Range) => Range | undefined = range => range) {
  const asked: string[] = []
  const ask: AskRange = range => {
    asked.push(range)
    const [, first = '', last = ''] = /^bytes=(\d*)-(\d+)$/.exec(range) ?? []
    const from = first === '' ? Math.max(0, bytes.length - Number(last)) : Number(first)
    const end = first === '' ? bytes.length : Number(last) + 1
    return Promise.resolve(change({ bytes: bytes.subarray(from, end), from, size: bytes.length }))
  }
  return { ask, asked }
}

test.each([
  ['a small wheel in one request', buildWheel(spec), 1],
  [
    'one of 500 kB whose METADATA is near its end',
    buildWheel({ ...spec, files: { 'far.bin': randomBytes(500_000) } }),
    2,
  ],
  // its directory alone is larger than what is asked for first
  ['one with 3,000 files', buildWheel({ ...spec, files: many }), 5],
])('METADATA of %s', async (_, wheel, most) => {
  const { ask, asked } = serve(wheel)
  expect((await readFarMetadata(named, ask))?.toString()).toBe(metadataText(spec))
  expect(asked.length).toBeLessThanOrEqual(most)
})

const large = buildWheel({ ...spec, files: { 'far.bin': randomBytes(500_000) } })
test.each<[string, Buffer, (range: Range) => Range | undefined, RegExp]>([
  [
    'ends before the end of the file',
    large,
    range => ({ ...range, size: range.size + 9 }),
    /other bytes than it was asked/,
  ],
  ['begins elsewhere', large, range => (range.from === 0 ? { ...range, from: 5 } : range), /other bytes/],
  [
    'sends less',
    large,
    range => (range.from === 0 ? { ...range, bytes: range.bytes.subarray(1) } : range),
    /other bytes/,
  ],
  ['sends no wheel', Buffer.alloc(300_000), range => range, /it is no zip/],
  ['sends that of another package', buildWheel({ name: 'other', version: '1.0' }), range => range, /not named after/],
  ['sends a changed one', changed(buildWheel(spec)), range => range, /is bad|checksum|damaged/],
])('a server that %s is not believed', async (_, bytes, change, why) => {
  await expect(readFarMetadata(named, serve(bytes, change).ask)).rejects.toThrow(why)
})

/** One byte of its METADATA is another one. */
function changed(wheel: Buffer): Buffer {
  const copy = Buffer.from(wheel)
  const name = 'far-1.0.dist-info/METADATA'
  const at = copy.indexOf(name) + name.length + 5
  copy[at] = (copy[at] ?? 0) ^ 1
  return copy
}

test('without ranges there is none', async () => {
  expect(await readFarMetadata(named, () => Promise.resolve(undefined))).toBeUndefined()
})

test.each([
  ['bytes 10-19/200', { from: 10, size: 200 }],
  ['bytes 10-19/*', undefined],
  ['bytes */200', undefined],
  [undefined, undefined],
])('Content-Range %s', (said, range) => {
  expect(readContentRange(said)).toEqual(range)
})
