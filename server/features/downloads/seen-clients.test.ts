import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { seenClients } from './seen-clients.ts'

let folder: string
let log: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-seen-'))
  log = join(folder, 'trees.log')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const INDEX = '/repos/dists/jammy/InRelease'
const line = (
  second: number,
  { from = '192.0.2.7', path = INDEX, status = 200, agent = 'Debian APT-HTTP/1.3 (2.6.1)' } = {},
): string =>
  `${from} - - [23/Nov/2026:10:00:${String(second).padStart(2, '0')} +0000] "GET ${path} HTTP/1.1" ${status} 100 "-" "${agent}"\n`
const since = (second: number) =>
  seenClients([{ name: 'trees', files: [log] }], {
    since: `2026-11-23T10:00:${String(second).padStart(2, '0')}.500Z`,
    isCodename: name => name === 'jammy' || name === 'almalinux9',
  })

test('the machines that asked for an index since then are named, each once, the newest first', async () => {
  await writeFile(
    log,
    [
      line(1, { from: '192.0.2.1' }),
      line(5, { path: '/repos/gpg.key', agent: 'curl/8.5.0' }),
      line(6),
      line(7, { status: 304 }),
      line(8, { from: '2001:db8::5', path: '/repos/almalinux9/repodata/repomd.xml', agent: 'libdnf (AlmaLinux 9)' }),
      line(9, { path: '/repos/dists/unknown/InRelease' }),
      line(10, { status: 404, from: '192.0.2.9' }),
      'a line that is none\n',
      line(11).slice(0, 30),
    ].join(''),
  )
  expect(await since(5)).toEqual({
    known: true,
    clients: [
      { at: '2026-11-23T10:00:08Z', address: '2001:db8::5', client: 'dnf', distribution: 'almalinux9' },
      { at: '2026-11-23T10:00:07Z', address: '192.0.2.7', client: 'apt', distribution: 'jammy' },
    ],
  })
  expect(await since(20)).toEqual({ known: true, clients: [] })
})

test('a log that is not there yet has nobody in it; one that may not be read is said to be so', async () => {
  expect(await since(0)).toEqual({ known: true, clients: [] })
  await rm(log, { force: true })
  log = folder // a folder is no log: as unreadable as a file of another user, which root would read
  await chmod(folder, 0o700)
  expect(await since(0)).toEqual({ known: false, why: 'unreadable' })
})
