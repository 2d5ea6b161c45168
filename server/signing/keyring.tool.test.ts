import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isRefusal } from '../core/errors.ts'
import type { Layout } from '../files/layout.ts'
import { createSecretBox } from '../lib/secret-box.ts'
import { createKeyring } from './keyring.ts'
import { layoutOf } from '../../test/support/repositories.ts'

const TEXT = 'Origin: Gatehouse\n- a dash\nspaces at the end  \nDate: today\n'
const have = (tool: string): boolean => spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0

let root: string
let layout: Layout
let now: Date
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-keys-'))
  layout = layoutOf(root)
  now = new Date()
})
afterEach(() => rm(root, { recursive: true, force: true }))

const open = (key = 'k'): ReturnType<typeof createKeyring> =>
  createKeyring({ layout, box: createSecretBox(key), clock: { now: () => now } })
const make = { name: 'Test', email: 'test@example.test', overlapDays: 30 } as const

/** What gpgv says of the clear-signed and the detached form, with this keyring alone. */
async function gpgv(keyring: Buffer, clear: string, detached: string): Promise<string> {
  await writeFile(join(root, 'ring.gpg'), keyring)
  await writeFile(join(root, 'InRelease'), clear)
  await writeFile(join(root, 'Release'), TEXT)
  await writeFile(join(root, 'Release.gpg'), detached)
  const run = (...args: string[]): string =>
    spawnSync('gpgv', ['--keyring', './ring.gpg', ...args], { cwd: root, encoding: 'utf8' }).stderr
  return run('InRelease') + run('Release.gpg', 'Release')
}

/** What gpg exports of a key that it made itself, as an administrator would. `--quick-generate-key` takes `kind`. */
async function exportedByGpg(kind: string, passphrase: string): Promise<{ armored: string; fingerprint: string }> {
  const home = join(root, 'gnupg')
  await mkdir(home, { mode: 0o700 })
  const gpg = (...args: string[]): string => {
    const options = ['--homedir', home, '--batch', '--pinentry-mode', 'loopback', '--passphrase', passphrase]
    const ran = spawnSync('gpg', [...options, ...args], { encoding: 'utf8' })
    if (ran.status !== 0) throw new Error(ran.stderr)
    return ran.stdout
  }
  try {
    gpg('--quick-generate-key', 'Nordwerk <packages@nordwerk.example>', kind, 'default', '2y')
    const fingerprint = /^fpr:+([0-9A-F]{40}):/m.exec(gpg('--with-colons', '--list-keys'))?.[1] ?? ''
    return { armored: gpg('--armor', '--export-secret-keys', fingerprint), fingerprint }
  } finally {
    spawnSync('gpgconf', ['--homedir', home, '--kill', 'all'])
  }
}
const good = (said: string): number => said.match(/Good signature/g)?.length ?? 0

describe.each(['rsa4096', 'ed25519Legacy'] as const)('a key of type %s', type => {
  test('signs what gpgv and this server accept, and neither accepts altered text', async () => {
    const keyring = open()
    await keyring.generate({ ...make, type })
    const signer = await keyring.signer()
    const [clear, detached] = [await signer.clearsign(TEXT), await signer.detach(Buffer.from(TEXT))]
    expect(await signer.verifyClearsigned(clear)).toBe(true)
    expect(await signer.verifyDetached(Buffer.from(TEXT), detached)).toBe(true)
    expect(await signer.verifyClearsigned(clear.replace('today', 'later'))).toBe(false)
    expect(await signer.verifyDetached(Buffer.from(`${TEXT} `), detached)).toBe(false)
    expect(await signer.verifyClearsigned('no signature at all')).toBe(false)
    if (have('gpgv')) expect(good(await gpgv(await keyring.publicKey('binary'), clear, detached))).toBe(2)
    if (have('sqv'))
      expect(spawnSync('sqv', ['--keyring', 'ring.gpg', 'Release.gpg', 'Release'], { cwd: root }).status).toBe(0)
  })
})

test('after a rotation both keys sign, the previous one last, and a client that knows either is content', async () => {
  const keyring = open()
  const first = await keyring.generate({ ...make, type: 'rsa4096' })
  const oldRing = await keyring.publicKey('binary')
  const second = await keyring.generate({ ...make, type: 'ed25519Legacy' })
  expect((await keyring.keys()).map(key => [key.fingerprint, key.role])).toEqual([
    [second.fingerprint, 'current'],
    [first.fingerprint, 'previous'],
  ])
  const signer = await keyring.signer()
  const [clear, detached] = [await signer.clearsign(TEXT), await signer.detach(Buffer.from(TEXT))]
  expect(await signer.verifyClearsigned(clear)).toBe(true)
  if (have('gpgv')) {
    expect(good(await gpgv(await keyring.publicKey('binary'), clear, detached))).toBe(4)
    expect(good(await gpgv(oldRing, clear, detached))).toBe(2)
  }
  if (have('gpg')) {
    const packets = spawnSync('gpg', ['--homedir', root, '--list-packets', 'Release.gpg'], {
      cwd: root,
      encoding: 'utf8',
    }).stdout
    expect([...packets.matchAll(/keyid ([0-9A-F]{16})/g)].map(match => match[1])).toEqual([
      second.fingerprint.slice(-16),
      first.fingerprint.slice(-16),
    ])
    expect(
      spawnSync('gpg', ['--homedir', root, '--show-keys', '--with-colons', layout.publicKey], {
        encoding: 'utf8',
      }).stdout.match(/^pub:/gm),
    ).toHaveLength(2)
  }
  now = new Date(now.getTime() + 31 * 86_400_000)
  expect((await keyring.keys()).map(key => key.fingerprint)).toEqual([second.fingerprint])
  expect((await keyring.signer()).keys).toHaveLength(1)
})

test('a key that was made by a clock which was ahead signs after that was set right', async () => {
  const keyring = open()
  await keyring.generate({ ...make, type: 'ed25519Legacy' })
  now = new Date(now.getTime() - 3_600_000)
  const signer = await keyring.signer()
  expect(await signer.verifyClearsigned(await signer.clearsign(TEXT))).toBe(true)
  expect(await signer.verifyDetached(Buffer.from(TEXT), await signer.detach(Buffer.from(TEXT)))).toBe(true)
})

test('keys survive a restart, are unreadable to others, and lie encrypted on disk', async () => {
  const made = await open().generate({ ...make, type: 'ed25519Legacy' })
  expect((await open().keys())[0]?.fingerprint).toBe(made.fingerprint)
  expect((await stat(layout.keyring)).mode & 0o777).toBe(0o700)
  const [name = ''] = await readdir(layout.keyring)
  expect((await stat(join(layout.keyring, name))).mode & 0o777).toBe(0o600)
  expect(await readFile(join(layout.keyring, name), 'utf8')).toContain('enc:v1:')
  expect((await stat(layout.publicKey)).mode & 0o777).toBe(0o644)
  await expect(open('another').keys()).rejects.toThrow('another SETTINGS_ENCRYPTION_KEY')
})

test('without a key, signing is refused with the way to make one', async () => {
  expect(
    await open()
      .signer()
      .catch((error: unknown) => isRefusal(error, 'no_signing_key')),
  ).toBe(true)
  expect(await open().keys()).toEqual([])
})

describe.skipIf(!have('gpg'))('a key that gpg made and exported', () => {
  test.each([
    ['rsa3072', ''],
    ['rsa4096', 'Eleven-blue-herons'],
    ['ed25519', 'Eleven-blue-herons'],
    ['default', ''],
  ])('%s, with the passphrase "%s", signs here what gpgv accepts', async (kind, passphrase) => {
    const { armored, fingerprint } = await exportedByGpg(kind, passphrase)
    const keyring = open()
    const card = await keyring.take({ armored, passphrase, overlapDays: 30 })
    expect([card.fingerprint, card.user_id]).toEqual([fingerprint, 'Nordwerk <packages@nordwerk.example>'])
    expect(card.expires_at).toMatch(/^20/)
    const signer = await open().signer()
    const [clear, detached] = [await signer.clearsign(TEXT), await signer.detach(Buffer.from(TEXT))]
    expect(good(await gpgv(await keyring.publicKey('binary'), clear, detached))).toBe(2)
  })
})
