import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32, deflateRawSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CPIO_END, cpioEntry } from '../../../test/support/packages-rpm.ts'
import { tar } from '../../../test/support/packages.ts'
import { LIMITS } from '../limits.ts'
import { READERS } from '../readers.ts'
import { createRoom } from '../room.ts'
import { UNPACKERS } from '../unpackers.ts'
import { walk } from '../walk.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-behind-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** What a package says that has this one file: its components with their places, and why something was not opened. */
async function inside(name: string, body: Buffer): Promise<string[]> {
  const bytes = tar([{ name: `./opt/${name}`, body }])
  async function* open(): AsyncGenerator<Buffer> {
    yield bytes
  }
  async function* streams() {
    yield { name: 'data.tar', open }
  }
  const { components, unopened } = await walk(streams(), {
    readers: READERS,
    unpackers: UNPACKERS,
    room: createRoom(folder, LIMITS),
    signal: new AbortController().signal,
  })
  return [
    ...components.map(({ purl, path, presence }) => `${purl} ${path} ${presence}`),
    ...unopened.map(({ path, why }) => `${path}: ${why}`),
  ]
}

const PACKAGE = 'node_modules/lodash/package.json'
const lodash = JSON.stringify({ name: 'lodash', version: '4.17.20' })
const found = (archive: string): string[] => [`pkg:npm/lodash@4.17.20 opt/${archive}!/${PACKAGE} shipped`]

test('an initial file system is several archives, one behind the other', async () => {
  const entry = (name: string, body: string): Buffer =>
    cpioEntry({ name, mode: 0o100644, body: Buffer.from(body), ino: 1 })
  const early = Buffer.concat([entry('kernel/x86/microcode/GenuineIntel.bin', 'code'), CPIO_END, Buffer.alloc(512)])
  const main = Buffer.concat([entry(PACKAGE, lodash), CPIO_END])
  expect(await inside('initrd', Buffer.concat([early, gzipSync(main)]))).toEqual(found('initrd!/archive'))
  expect(await inside('initrd', Buffer.concat([early, main, Buffer.alloc(512)]))).toEqual(found('initrd!/archive'))
})

test('a script with an archive behind it', async () => {
  const lines = `#!/bin/sh\n${'# a line of the script\n'.repeat(40)}exit 0\n`
  const archive = gzipSync(tar([{ name: PACKAGE, body: lodash }]))
  expect(await inside('setup.run', Buffer.concat([Buffer.from(lines), archive]))).toEqual(found('setup.run!/archive'))
  expect(await inside('setup.sh', Buffer.from(lines))).toEqual([])
  expect(await inside('setup.run', Buffer.concat([Buffer.from(lines), archive.subarray(0, -20)]))).toContainEqual(
    expect.stringMatching(/^opt\/setup\.run!\/archive: It could not be read to its end/),
  )
})

const u32 = (...numbers: number[]): Buffer => {
  const bytes = Buffer.alloc(numbers.length * 4)
  numbers.forEach((number, n) => bytes.writeUInt32LE(number, n * 4))
  return bytes
}

/** A phar of these members, each with its flags. */
function buildPhar(members: readonly (readonly [name: string, body: string, flags?: number])[]): Buffer {
  const packed = members.map(([, body, flags = 0]) =>
    (flags & 0x1000) === 0 ? Buffer.from(body) : deflateRawSync(body),
  )
  const rows = members.map(([name, body, flags = 0], n) =>
    Buffer.concat([
      u32(name.length),
      Buffer.from(name),
      u32(body.length, 0, packed[n]?.length ?? 0, crc32(body), flags, 0),
    ]),
  )
  const list = Buffer.concat([u32(members.length), Buffer.from([0x11, 0]), u32(0, 0, 0), ...rows])
  const stub = Buffer.from('#!/usr/bin/env php\n<?php Phar::mapPhar(); __HALT_COMPILER(); ?>\r\n')
  return Buffer.concat([stub, u32(list.length), list, ...packed])
}

test('a phar, plain, deflated and damaged', async () => {
  expect(await inside('tool.phar', buildPhar([[PACKAGE, lodash]]))).toEqual(found('tool.phar'))
  const packed = buildPhar([
    ['src/', ''],
    ['src/a.php', '<?php'.repeat(100), 0x1000],
    [PACKAGE, lodash, 0x1000],
  ])
  expect(await inside('tool', packed)).toEqual(found('tool'))
  expect(await inside('tool.phar', buildPhar([[PACKAGE, lodash, 0x2000]]))).toEqual([
    `opt/tool.phar!/${PACKAGE}: It is compressed by bzip2, which is not read in a phar.`,
  ])
  expect(await inside('tool.phar', packed.subarray(0, 100))).toEqual([
    'opt/tool.phar: It could not be read to its end: the list of its members goes beyond its end.',
  ])
  const bomb = buildPhar([['a', 'x'.repeat(2000), 0x1000]])
  bomb.writeUInt32LE(10, bomb.indexOf(u32(2000)))
  expect(await inside('tool.phar', bomb)).toEqual([
    'opt/tool.phar: It could not be read to its end: it is damaged, or larger than the list of members says.',
  ])
})
