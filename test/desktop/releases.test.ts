import { generateKeyPairSync } from 'node:crypto'
import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { makeKey, readPrivateKey, readReleaseKey, signRelease } from '../../electron/pack/sign.ts'
import { createAuthority, type Authority } from '../support/authority.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { startTlsFront, type TlsFront } from '../support/tls-front.ts'
import { startProgram, type Program } from './around.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const BYTES = Buffer.from('the next version of the program')

let daemon: Daemon
let authority: Authority
let front: TlsFront
let program: Program
let id: string
let folder: string
/** The vendor's own folder, with the key. */
let keys: string
let publicKey: string

beforeAll(async () => {
  ;[daemon, authority] = await Promise.all([startDaemon(), createAuthority()])
  await daemon.setupAdmin()
  keys = await mkdtemp(join(tmpdir(), 'gh-vendor-'))
  publicKey = await makeKey(join(keys, 'release.key'))
  front = await startTlsFront(daemon.url, await authority.issue())
  folder = join(daemon.root, 'console', 'releases')
})
afterAll(async () => {
  await front.close()
  await Promise.all([daemon.close(), authority.close(), rm(keys, { recursive: true, force: true })])
})
beforeEach(async () => {
  await mkdir(folder, { recursive: true })
  program = await startProgram({ around: { releaseKey: publicKey } })
  const { look } = await program.home('connections.look', { address: front.origin })
  id = (
    await program.home('connections.trust', { look, name: 'box', colour: 'ochre', environment: '', by: 'fingerprint' })
  ).id
})
afterEach(async () => {
  await program.close()
  await rm(folder, { recursive: true, force: true })
})

async function offer(version = '9.0.0'): Promise<void> {
  const path = join(keys, `gatehouse-desktop_${version}_amd64.deb`)
  await writeFile(path, BYTES)
  const release = { version, notes: 'Fewer words.', releasedAt: new Date(), files: [{ platform: 'linux-x64', path }] }
  await signRelease(release, await readPrivateKey(join(keys, 'release.key')), folder, publicKey)
}
const look = () => program.page(id, 'releases.look', {})
const fetch = (version: string) => program.page(id, 'releases.fetch', { version })

test('the newest version that the vendor signed is offered, fetched without internet, and shown in its folder', async () => {
  expect(await look()).toBeNull()
  await offer('8.0.0')
  await offer('9.0.0')
  expect(await look()).toEqual({
    version: '9.0.0',
    notes: 'Fewer words.',
    file: 'gatehouse-desktop_9.0.0_amd64.deb',
    size: BYTES.length,
    is_newer: true,
  })
  const { path } = await fetch('9.0.0')
  expect(await readFile(path)).toEqual(BYTES)
  expect(program.opened).toEqual([path])
})

test('a build that was given no key is never offered anything', async () => {
  await offer()
  await program.close()
  program = await startProgram()
  const { look: seen } = await program.home('connections.look', { address: front.origin })
  id = (
    await program.home('connections.trust', {
      look: seen,
      name: 'box',
      colour: 'ochre',
      environment: '',
      by: 'fingerprint',
    })
  ).id
  expect(await look()).toBeNull()
})

test('the service hands out nothing but the files that a manifest names, and follows no link', async () => {
  await offer()
  await writeFile(join(folder, 'note.txt'), 'not named')
  await rm(join(folder, 'gatehouse-desktop_9.0.0_amd64.deb'))
  await symlink(join(daemon.root, 'settings.json'), join(folder, 'gatehouse-desktop_9.0.0_amd64.deb'))
  for (const name of ['note.txt', '9.0.0.json', 'gatehouse-desktop_9.0.0_amd64.deb', '..%2f..%2fsettings.json'])
    expect((await daemon.call('GET', `/console/releases/${name}`)).status, name).toBeGreaterThanOrEqual(404)
})

/** `npm run desktop:sign` with these words. */
async function signCommand(...words: readonly string[]): Promise<{ readonly code: number; readonly said: string }> {
  const { GATEHOUSE_RELEASE_KEY: _, ...env } = process.env
  const run = promisify(execFile)(process.execPath, [join(ROOT, 'electron', 'pack', 'sign.ts'), ...words], { env })
  return run.then(
    ({ stdout, stderr }) => ({ code: 0, said: stdout + stderr }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      said: error.stdout + error.stderr,
    }),
  )
}

test('a version that the command signed is taken, one changed byte of it is not, and the key is never said', async () => {
  const [key, file, out] = ['made.key', 'gatehouse-desktop_9.9.0_amd64.deb', 'out'].map(name => join(keys, name)) as [
    string,
    string,
    string,
  ]
  await writeFile(file, BYTES)
  const made = await signCommand('--new-key', key)
  expect(made.said).toContain(await readFile(`${key}.pub`, 'utf8'))
  const words = ['--key', key, '--out', out, '--version', '9.9.0', '--notes', 'Fewer words.', `linux-x64=${file}`]
  const signed = await signCommand(...words)
  expect(signed).toMatchObject({ code: 0, said: /9\.9\.0\.json\.sig/ as unknown })
  const said = made.said + signed.said
  for (const line of (await readFile(key, 'utf8')).split('\n').filter(one => /^[\w+/=]{20,}$/.test(one)))
    expect(said).not.toContain(line)

  await program.close()
  program = await startProgram({ around: { releaseKey: await readFile(`${key}.pub`, 'utf8') } })
  const { look: seen } = await program.home('connections.look', { address: front.origin })
  const facts = { name: 'box', colour: 'ochre', environment: '', by: 'fingerprint' } as const
  id = (await program.home('connections.trust', { look: seen, ...facts })).id
  for (const name of await readdir(out)) await writeFile(join(folder, name), await readFile(join(out, name)))
  expect(await look()).toMatchObject({ version: '9.9.0', notes: 'Fewer words.', is_newer: true })
  expect(await readFile((await fetch('9.9.0')).path)).toEqual(BYTES)

  const name = join(folder, 'gatehouse-desktop_9.9.0_amd64.deb')
  await writeFile(name, Buffer.from(BYTES).fill('N', 4, 5))
  await expect(fetch('9.9.0')).rejects.toMatchObject({ code: 'release_is_damaged' })
  const manifest = join(folder, '9.9.0.json')
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replace('Fewer', 'fewer'))
  expect(await look()).toBeNull()
})

test('a build is given a public key as text, or none at all', async () => {
  expect([readReleaseKey(undefined), readReleaseKey(''), readReleaseKey(publicKey)]).toEqual([
    undefined,
    undefined,
    publicKey,
  ])
  const own = await readFile(join(keys, 'release.key'), 'utf8')
  const { publicKey: other } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  for (const wrong of [join(keys, 'release.key.pub'), own, other.export({ type: 'spki', format: 'pem' }).toString()])
    expect(() => readReleaseKey(wrong)).toThrow(/^GATEHOUSE_RELEASE_KEY is no public Ed25519 key in PEM[^-]+$/)
})

test('a key that others may read, a link to one, and one that is none are refused before anything is written', async () => {
  const at = (name: string): string => join(keys, name)
  await Promise.all([
    makeKey(at('open.key')),
    writeFile(at('none.key'), 'top secret words', { mode: 0o600 }),
    symlink(at('release.key'), at('link.key')),
    writeFile(at('x.deb'), 'x'),
  ])
  await chmod(at('open.key'), 0o640)
  const refusal = async (...words: readonly string[]): Promise<string> => {
    const { code, said } = await signCommand('--out', at('nothing'), ...words)
    expect(code).toBe(1)
    return said
  }
  const file = `linux-x64=${at('x.deb')}`
  expect(await refusal('--key', at('open.key'), file)).toMatch(/may be read by others than you.*chmod 600/)
  expect(await refusal('--key', at('link.key'), file)).toMatch(/no plain file/)
  expect(await refusal('--key', at('gone.key'), file)).toMatch(/no plain file/)
  const none = await refusal('--key', at('none.key'), file)
  expect(none).toMatch(/holds no Ed25519 private key/)
  expect(none).not.toContain('top secret')
  const good = ['--key', at('release.key')]
  expect(await refusal(...good, `beos=${at('x.deb')}`)).toMatch(/no platform/)
  expect(await refusal(...good, `linux-x64=${at('gone.deb')}`)).toMatch(/no file with something in it/)
  expect(await refusal(...good, file, `linux-arm64=${at('x.deb')}`)).toMatch(/the same name/)
  expect(await refusal(...good, '--version', 'next', file)).toMatch(/no version/)
  expect(await refusal('--new-key', at('release.key'))).toMatch(/never written over/)
  await expect(
    signRelease(
      { version: '1.0.0', notes: '', releasedAt: new Date(), files: [{ platform: 'linux-x64', path: at('x.deb') }] },
      await readPrivateKey(at('release.key')),
      at('nothing'),
      await readFile(at('open.key.pub'), 'utf8'),
    ),
  ).rejects.toThrow(/public part of another key/)
  expect(await readdir(keys)).not.toContain('nothing')
})
