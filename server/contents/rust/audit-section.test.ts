import { deflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { findings, purls } from '../../../test/support/contents.ts'
import { mutated } from '../../../test/support/mutate-program.ts'
import { elf, fat, machO, pe } from '../../../test/support/programs.ts'
import { Malformed } from '../../lib/limited.ts'
import { rustReaders } from './readers.ts'

const PACKAGES = [
  { name: 'hello', version: '0.1.0', source: 'local', dependencies: [1, 2], root: true },
  { name: 'itoa', version: '1.0.17', source: 'crates.io' },
  { name: 'semver', version: '1.0.27', source: 'crates.io', kind: 'build' },
  { name: 'forked', version: '2.0.0', source: 'git' },
  { name: 'inner', version: '0.2.0', source: 'local' },
  { name: 'private', version: '0.3.0', source: 'registry' },
]
const FOUND = [
  'pkg:cargo/hello@0.1.0 shipped certain: It is a part of the project itself.',
  'pkg:cargo/itoa@1.0.17 shipped certain',
  'pkg:cargo/semver@1.0.27 declared certain: It was needed for building only.',
  'pkg:cargo/forked@2.0.0 shipped certain: It does not come from the registry that advisories are about.',
  'pkg:cargo/inner@0.2.0 shipped certain: It is a part of the project itself.',
  'pkg:cargo/private@0.3.0 shipped certain: It does not come from the registry that advisories are about.',
]
const section = (bytes: Buffer) => ({ name: '.dep-v0', bytes })
const audit = (value: unknown) => section(deflateSync(JSON.stringify(value)))

test('a program that lists its crates is read, wherever it runs', async () => {
  const part = audit({ packages: PACKAGES, format: 1 })
  for (const program of [elf([part]), elf([part], { wordBytes: 4, isBigEndian: true }), pe([part]), machO([part])])
    expect(await purls(rustReaders, 'usr/bin/hello', program)).toEqual(FOUND)
  expect(await purls(rustReaders, 'a', fat([machO([part])]))).toEqual(FOUND)
})

test('rows without a name or version are none', async () => {
  const rows = [{ name: 'a' }, { version: '1' }, 'text', null, { name: 'b\0', version: '1.0.0' }]
  expect(await findings(rustReaders, 'a', elf([audit({ packages: rows })]))).toEqual([])
  expect(await findings(rustReaders, 'a', elf([{ name: '.text', bytes: Buffer.alloc(9) }]))).toEqual([])
})

test('a bomb, a cut list and other JSON are refused', async () => {
  const bomb = deflateSync(Buffer.alloc(9 * 2 ** 20, ' '))
  const whole = audit({ packages: PACKAGES }).bytes
  for (const bytes of [
    bomb,
    whole.subarray(0, 60),
    deflateSync('[1]'),
    deflateSync('{"packages":1}'),
    Buffer.alloc(20),
  ])
    await expect(findings(rustReaders, 'a', elf([section(bytes)]))).rejects.toThrow(Malformed)
  const many = audit({ packages: Array.from({ length: 50_001 }, () => 1) })
  await expect(findings(rustReaders, 'a', elf([many]))).rejects.toThrow('more than 50000 crates')
})

test('whatever the bytes are, the answer is crates or a refusal', async () => {
  for (const program of [elf([audit({ packages: PACKAGES })]), pe([audit({ packages: PACKAGES })])])
    for (const bytes of mutated(program, 300))
      await findings(rustReaders, 'a', bytes).catch(error => expect(error).toBeInstanceOf(Malformed))
}, 20_000)
