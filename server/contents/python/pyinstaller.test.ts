import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openFile } from '../../../test/support/open-file.ts'
import { LIMITS } from '../limits.ts'
import { createRoom } from '../room.ts'
import { pyInstaller } from './pyinstaller.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-pyinstaller-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

interface Spec {
  readonly name: string
  readonly type: string
  readonly body: Buffer
  readonly isPacked?: boolean
}

/** The loader, then the members, their table and the cookie, as PyInstaller writes them. */
function buildProgram(members: readonly Spec[], signature = Buffer.alloc(0)): Buffer {
  const loader = Buffer.concat([
    Buffer.from('\x7fELF', 'latin1'),
    Buffer.alloc(20_000),
    Buffer.from('MEI\x0c\x0b\x0a\x0b\x0e'),
  ])
  const data: Buffer[] = []
  const table: Buffer[] = []
  let offset = 0
  for (const { name, type, body, isPacked } of members) {
    const written = isPacked === true ? deflateSync(body) : body
    const padded = Buffer.alloc(Math.ceil((name.length + 1) / 16) * 16)
    padded.write(name)
    const head = Buffer.alloc(18)
    ;[18 + padded.length, offset, written.length, body.length].forEach((n, at) => head.writeUInt32BE(n, at * 4))
    head[16] = isPacked === true ? 1 : 0
    head.write(type, 17)
    table.push(head, padded)
    data.push(written)
    offset += written.length
  }
  const [stored, list] = [Buffer.concat(data), Buffer.concat(table)]
  const cookie = Buffer.alloc(88)
  cookie.write('MEI\x0c\x0b\x0a\x0b\x0e', 'latin1')
  ;[stored.length + list.length + 88, stored.length, list.length, 311].forEach((n, at) =>
    cookie.writeUInt32BE(n, 8 + at * 4),
  )
  cookie.write('libpython3.11.so.1.0', 24)
  return Buffer.concat([loader, stored, list, cookie, signature])
}

const MEMBERS: readonly Spec[] = [
  { name: 'pyimod01_archive', type: 'm', body: Buffer.from('code') },
  { name: 'libssl.so.3', type: 'b', body: Buffer.from('a library'), isPacked: true },
  { name: 'requests-2.19.0.dist-info\\METADATA', type: 'x', body: Buffer.from('some data') },
  { name: 'PYZ.pyz', type: 'z', body: Buffer.from('PYZ\0') },
]

async function membersOf(program: Buffer): Promise<unknown[]> {
  const file = openFile('opt/app', program)
  expect(pyInstaller.wants(file)).toBe(true)
  const members: unknown[] = []
  for await (const one of pyInstaller.files(file, createRoom(folder, LIMITS)))
    members.push('read' in one ? [one.path, (await one.whole(1000)).toString()] : one)
  return members
}

test.each([0, 5000])('a program with %i bytes of a signature', async signature => {
  expect(await membersOf(buildProgram(MEMBERS, Buffer.alloc(signature)))).toEqual([
    { other: 'opt/app!/pyimod01_archive' },
    ['opt/app!/libssl.so.3', 'a library'],
    ['opt/app!/requests-2.19.0.dist-info/METADATA', 'some data'],
    {
      path: 'opt/app!/PYZ.pyz',
      size: 4,
      why: 'It holds compiled modules of Python, which do not say their versions.',
    },
  ])
})

test('a program without the cookie, or with its bytes alone, holds nothing', async () => {
  expect(await membersOf(buildProgram(MEMBERS).subarray(0, -88))).toEqual([])
  expect(await membersOf(Buffer.concat([buildProgram([]).subarray(0, 20_012), Buffer.alloc(100)]))).toEqual([])
})

test('a damaged table, a member outside and a bomb are told', async () => {
  const program = buildProgram(MEMBERS)
  const entry = program.indexOf('pyimod01_archive') - 18
  const broken = Buffer.from(program)
  broken.writeUInt32BE(3, entry)
  await expect(membersOf(broken)).rejects.toThrow('the table of its archive is damaged')
  const outside = Buffer.from(program)
  outside.writeUInt32BE(0xffffff, program.indexOf('requests-2.19') - 18 + 4)
  await expect(membersOf(outside)).rejects.toThrow('points to byte')
  const bomb: Spec = { name: 'b', type: 'b', body: Buffer.alloc(64 * 2 ** 20), isPacked: true }
  await expect(membersOf(buildProgram([bomb]))).rejects.toThrow('times its size')
})
