import { deflateRawSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { numbers, elf, pe } from '../../../test/support/programs.ts'
import { unpackedIn } from '../../../test/support/unpacked-in.ts'
import { mutated } from '../../../test/support/mutate-program.ts'
import { singleFile } from './single-file.ts'

const SIGNATURE = Buffer.from('8b1202b96a612038727b930214d7a03213f5b9e6efae3318ee3b2dce24b36aae', 'hex')
const named = (name: string): Buffer => Buffer.concat([Buffer.from([name.length]), Buffer.from(name)])

/** A bundle of this version, as the publisher of .NET appends it. */
function bundle(
  build: typeof elf | typeof pe,
  major: number,
  files: readonly { readonly name: string; readonly body: Buffer; readonly isPacked?: boolean }[],
): Buffer {
  const place = (offset: number): Buffer => Buffer.concat([numbers([[offset, 8]]), SIGNATURE])
  const program = (offset: number): Buffer =>
    build([{ name: '.data', bytes: Buffer.concat([Buffer.alloc(24), place(offset)]), isWritable: true }])
  let at = program(0).length
  const stored = files.map(({ body, isPacked }) => (isPacked === true ? deflateRawSync(body) : body))
  const rows = files.map(({ name, body, isPacked }, n) => {
    const row = Buffer.concat([
      numbers([
        [at, 8],
        [body.length, 8],
        ...(major >= 6 ? [[isPacked === true ? (stored[n]?.length ?? 0) : 0, 8] as const] : []),
        [1, 1],
      ]),
      named(name),
    ])
    at += stored[n]?.length ?? 0
    return row
  })
  const head = [numbers([major, 0, files.length].map(value => [value, 4])), named('id')]
  return Buffer.concat([program(at), ...stored, ...head, Buffer.alloc(major >= 2 ? 40 : 0), ...rows])
}

const files = [
  { name: 'app.deps.json', body: Buffer.from('{"libraries":{}}') },
  { name: 'A.dll', body: Buffer.alloc(5000, 'MZ'), isPacked: true },
]

test.each([
  [elf, 6],
  [pe, 6],
])('the files of a bundle are opened, compressed ones too', async (build, major) => {
  expect(await unpackedIn(singleFile, 'opt/app', bundle(build, major, files))).toEqual([
    ['opt/app!/app.deps.json', '{"libraries":{}}'],
    ['opt/app!/A.dll', 'MZ'.repeat(2500)],
  ])
})

test.each([1, 2])('bundles of version %d name no compression', async major => {
  const plain = files.map(({ name, body }) => ({ name, body }))
  expect(await unpackedIn(singleFile, 'a', bundle(elf, major, plain))).toHaveLength(2)
})

test('a program that is not bundled has nothing in it, and a list that lies is named', async () => {
  expect(
    await unpackedIn(singleFile, 'a', elf([{ name: '.data', bytes: Buffer.concat([Buffer.alloc(8), SIGNATURE]) }])),
  ).toEqual([])
  const [first] = files
  const cut = bundle(elf, 6, [{ ...first, name: 'x', body: Buffer.alloc(9) }])
  cut.writeUInt32LE(1_000_000, cut.length - 27)
  expect(await unpackedIn(singleFile, 'a', cut)).toEqual([['a!/x', 'The list of its bundle puts it outside.']])
  for (const bytes of mutated(bundle(elf, 6, files), 100)) await unpackedIn(singleFile, 'a', bytes)
})
