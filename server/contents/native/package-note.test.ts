import { expect, test } from 'vitest'
import { findings } from '../../../test/support/contents.ts'
import { mutated } from '../../../test/support/mutate-program.ts'
import { elf, numbers } from '../../../test/support/programs.ts'
import { Malformed } from '../../lib/limited.ts'
import { packageNote } from './package-note.ts'

function note(value: unknown, isBigEndian = false) {
  const json = Buffer.from(`${JSON.stringify(value)}\0`)
  const header = [4, json.length, 0xcafe1a7e].map(number => [number, 4] as const)
  return { name: '.note.package', bytes: Buffer.concat([numbers(header, isBigEndian), Buffer.from('FDO\0'), json]) }
}
const read = (bytes: Buffer) => findings([packageNote], 'opt/tool', bytes)
const found = { presence: 'shipped', rule: 'elf-package-note', confidence: 'certain' }

test.each([
  [
    { type: 'deb', os: 'ubuntu', name: 'rsync', version: '3.2.7-1ubuntu1', architecture: 'amd64' },
    {
      type: 'deb',
      namespace: 'ubuntu',
      name: 'rsync',
      version: '3.2.7-1ubuntu1',
      qualifiers: { arch: 'source', distro: '' },
    },
  ],
  [
    {
      type: 'rpm',
      name: 'hello',
      version: '0-1.fc39.x86_64',
      architecture: 'x86_64',
      osCpe: 'cpe:/o:fedoraproject:fedora:39',
    },
    {
      type: 'rpm',
      namespace: 'fedora',
      name: 'hello',
      version: '0-1.fc39',
      qualifiers: { arch: 'x86_64', distro: 'fedora-39' },
    },
  ],
  [
    { type: 'deb', name: 'a', version: '1', osCpe: 'cpe:2.3:o:debian:debian_linux:13' },
    { type: 'deb', namespace: 'debian', name: 'a', version: '1', qualifiers: { arch: 'source', distro: 'debian-13' } },
  ],
])('a program names the package it was built for', async (value, expected) => {
  for (const isBigEndian of [false, true]) {
    const part = note(value, isBigEndian)
    expect(await read(elf([part], { isBigEndian }))).toEqual([{ ...expected, ...found }])
  }
})

test('what names no package is none', async () => {
  const values = [
    {},
    { type: 'deb', name: 'a' },
    { type: 'other', name: 'a', version: '1' },
    { type: 'deb', name: 1, version: {} },
  ]
  for (const value of values) expect(await read(elf([note(value)]))).toEqual([])
  const other = note({ type: 'deb', name: 'a', version: '1' })
  expect(await read(elf([{ ...other, name: '.note.gnu.build-id' }]))).toEqual([])
  other.bytes.writeUInt32LE(1, 8)
  expect(await read(elf([other]))).toEqual([])
})

test('whatever the bytes are, the answer is a package or a refusal', async () => {
  const part = note({ type: 'deb', os: 'debian', name: 'a', version: '1' })
  for (const isBare of [false, true])
    for (const bytes of mutated(elf([part], { isBare }), 300))
      await read(bytes).catch(error => expect(error).toBeInstanceOf(Malformed))
}, 20_000)
