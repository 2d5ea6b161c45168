import { expect, test } from 'vitest'
import { findings, purls } from '../../../test/support/contents.ts'
import { mutated } from '../../../test/support/mutate-program.ts'
import { numbers, pe } from '../../../test/support/programs.ts'
import { Malformed } from '../../lib/limited.ts'
import { peVersion } from './pe-version.ts'

/** Where the first section of a program that is made for a test is loaded, from its base. */
const SECTION = 0x4000
const u32 = (...values: number[]): Buffer => numbers(values.map(value => [value, 4]))
const directory = (id: number, target: number): Buffer =>
  Buffer.concat([Buffer.alloc(12), numbers([[0, 2]]), numbers([[1, 2]]), u32(id, target)])
const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes], Math.ceil(bytes.length / 4) * 4)
const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le')

function program(strings: Readonly<Record<string, string>>, isManaged = false): Buffer {
  const rows = Object.entries(strings).map(([key, value]) => {
    // six bytes of lengths stand before the key, and count for what it is filled up to
    const head = padded(Buffer.concat([Buffer.alloc(6), utf16(`${key}\0`)]))
    return padded(Buffer.concat([head, utf16(`${value}\0`)]))
  })
  const block = Buffer.concat([
    padded(Buffer.concat([Buffer.alloc(6), utf16('VS_VERSION_INFO\0')])),
    Buffer.alloc(52),
    ...rows,
  ])
  const tree = [directory(16, 0x8000_0018), directory(1, 0x8000_0030), directory(1033, 0x48)]
  const resources = Buffer.concat([...tree, u32(SECTION + 0x58, block.length, 0, 0), block])
  return pe([{ name: '.rsrc', bytes: resources }], { isManaged })
}
const read = (path: string, strings: Readonly<Record<string, string>>, isManaged = false) =>
  purls([peVersion], path, program(strings, isManaged))

test.each([
  ['Newtonsoft.Json.dll', { ProductVersion: '12.0.1+7c3d7f8', FileVersion: '12.0.1.22727' }, 'Newtonsoft.Json@12.0.1'],
  [
    'System.Text.Json.dll',
    { FileVersion: '4.700.22.12208', ProductVersion: '3.1.23+05b8d5d', OriginalFilename: 'System.Text.Json.dll' },
    'System.Text.Json@3.1.23',
  ],
  [
    'renamed.bin',
    { ProductVersion: '6.0.0-rc.2.21480.5+68e5c2', OriginalFilename: 'A.B.dll' },
    'A.B@6.0.0-rc.2.21480.5',
  ],
  ['System.dll', { ProductVersion: '4.8.4084.0 built by: NET48REL1' }, 'System@4.8.4084.0'],
  ['Own.dll', { ProductVersion: '0.0.0.0' }, 'Own'],
  ['Own.exe', {}, 'Own'],
])('an assembly of .NET: %s', async (file, strings, expected) => {
  expect(await read(`opt/app/${file}`, strings, true)).toEqual([`pkg:nuget/${expected} shipped probable`])
})

test.each([
  ['libcrypto-1_1-x64.dll', { ProductVersion: '1.1.1k' }, 'openssl@1.1.1k'],
  ['zlib1.dll', { ProductVersion: '1, 2, 11, 0' }, 'zlib@1.2.11.0'],
  ['python311.dll', { ProductVersion: '', FileVersion: '3.11.4' }, 'python@3.11.4'],
  ['jvm.dll', { ProductVersion: '17.0.1+12' }, 'openjdk@17.0.1'],
])('a library of Windows: %s', async (file, strings, expected) => {
  expect(await read(`opt/app/${file}`, strings)).toEqual([`pkg:generic/${expected} shipped probable`])
})

test('translations, programs that nobody knows and those without properties are not named', async () => {
  expect(await read('de/A.resources.dll', { ProductVersion: '1.0.0' }, true)).toEqual([])
  expect(await read('own.exe', { ProductVersion: '1.0.0' })).toEqual([])
  expect(await read('zlib1.dll', {})).toEqual([])
  expect(await purls([peVersion], 'zlib1.dll', pe([{ name: '.text', bytes: Buffer.alloc(8) }]))).toEqual([])
  expect(await purls([peVersion], 'old.exe', Buffer.concat([Buffer.from('MZ')], 2000))).toEqual([])
})

test('whatever the bytes are, the answer is a version or a refusal', async () => {
  for (const bytes of mutated(program({ ProductVersion: '1.2.3', OriginalFilename: 'A.dll' }, true), 500))
    await findings([peVersion], 'a.dll', bytes).catch(error => expect(error).toBeInstanceOf(Malformed))
}, 20_000)
