import { expect, test } from 'vitest'
import { findings } from '../../../test/support/contents.ts'
import { elf } from '../../../test/support/programs.ts'
import { packedProgram } from './packed.ts'

const read = (bytes: Buffer) => findings([packedProgram], 'opt/tool', bytes)
const part = (bytes: Buffer) => [{ name: '.data', bytes }]

test('a program that hides what is in it is named as unopened', async () => {
  const packed = elf(part(Buffer.alloc(8)))
  packed.write('UPX!', 0xec, 'latin1')
  const image = elf(part(Buffer.alloc(8)))
  image.write('AI\x02', 8, 'latin1')
  for (const [bytes, why] of [
    [packed, 'It is packed with UPX, which is not unpacked.'],
    [image, 'It is an AppImage, whose file system is not opened.'],
    [
      Buffer.concat([elf([]), Buffer.alloc(9000), Buffer.from('\n---- Bun! ----\n'), Buffer.alloc(8)]),
      'It is an application that Bun compiled into one file, which is not opened.',
    ],
    [
      Buffer.concat([elf([]), Buffer.from('d3n0l4nd'), Buffer.alloc(16)]),
      'It is an application that Deno compiled into one file, which is not opened.',
    ],
  ] as const)
    expect(await read(bytes)).toEqual({ found: [], unopened: [{ path: 'opt/tool', size: bytes.length, why }] })
})

test('a program that only knows these marks is not', async () => {
  expect(await read(elf(part(Buffer.from('UPX! MEI'))))).toEqual([])
})
