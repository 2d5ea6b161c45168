import { gunzipSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { addressOf, elf, numbers } from '../../../test/support/programs.ts'
import { mutated } from '../../../test/support/mutate-program.ts'
import { unpackedIn } from '../../../test/support/unpacked-in.ts'
import { nativeImage } from './native-image.ts'

const bill = gzipSync('{"bomFormat":"CycloneDX"}')
const names = Buffer.from('\0sbom\0sbom_length\0', 'latin1')
const symbol = (name: number, value: number): Buffer =>
  numbers([
    [name, 4],
    [0x11, 1],
    [0, 1],
    [1, 2],
    [value, 8],
    [8, 8],
  ])
const heap = { name: '.svm_heap', bytes: Buffer.concat([bill, Buffer.alloc(8)]), isWritable: true }
const withBill = elf([
  heap,
  { name: '.data', bytes: numbers([[bill.length, 8]]) },
  { name: '.dynstr', bytes: names },
  { name: '.dynsym', bytes: Buffer.concat([Buffer.alloc(24), symbol(1, addressOf(0)), symbol(6, addressOf(1))]) },
])

test('the bill of materials that a compiled Java program exports is opened', async () => {
  const [[path, text] = ['', '']] = await unpackedIn(nativeImage, 'opt/app', withBill)
  expect([path, gunzipSync(Buffer.from(text, 'latin1')).toString()]).toEqual([
    'opt/app!/sbom.cdx.json.gz',
    '{"bomFormat":"CycloneDX"}',
  ])
})

test('one without is named, and other programs have nothing in them', async () => {
  expect(await unpackedIn(nativeImage, 'a', elf([heap]))).toEqual([
    ['a', 'It is a Java program that GraalVM compiled, and has no list of its parts in it.'],
  ])
  expect(await unpackedIn(nativeImage, 'a', elf([{ name: '.dynstr', bytes: names }]))).toEqual([])
  for (const bytes of mutated(withBill, 100)) await unpackedIn(nativeImage, 'a', bytes)
})
