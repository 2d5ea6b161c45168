import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFile, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateSync } from 'otplib/functional'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { packageNames } from '../support/tree.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

const CLI = (name: string): string => join(import.meta.dirname, '..', '..', 'server', 'cli', `${name}.ts`)
const PASSPHRASE = 'Eleven-blue-herons'
const PACKAGES = 12
const ADA = { username: 'ada', password: 'Correct-horse-7' }
const codeNow = (secret: string, later = 0): string =>
  generateSync({ secret, epoch: Math.floor(Date.now() / 1_000) + later })

interface Backup {
  readonly file_name: string
  readonly packages: number
  readonly encrypted: boolean
  readonly proved_at: string | null
}

/** Runs a command of the product on a root, with its embedded database. */
function run(name: string, root: string, args: readonly string[] = [], env: Record<string, string> = {}) {
  const { DATABASE_URL: _, ...rest } = process.env
  const done = spawnSync(process.execPath, [CLI(name), ...args], {
    env: { ...rest, REPOS_ROOT: root, ENV: 'test', ...env },
    encoding: 'utf8',
  })
  return { status: done.status, said: `${done.stdout}${done.stderr}`, signal: done.signal }
}

describe('a backup of a service at work', () => {
  let daemon: Daemon
  let token: string
  let folder: string
  let apiToken: string
  let fingerprint: string
  let seed: string
  const archives = { plain: '', sealed: '' }

  const served = async (by: Daemon): Promise<string[]> => {
    const { text } = await by.call('GET', '/repos/dists/jammy/main/binary-amd64/Packages')
    return packageNames(text)
  }
  const names = (to: number): string[] => Array.from({ length: to }, (_, n) => `pack${n}`).sort()
  const upload = async (n: number): Promise<void> => {
    const answer = await daemon.upload(await buildDeb({ name: `pack${n}`, version: '1.0' }), { token })
    expect(answer.body.status).toBe('published')
  }
  async function back(): Promise<Backup> {
    const { status, body } = await daemon.call<Backup>('POST', '/backup/', { token })
    expect(status, `${JSON.stringify(body)}\n${daemon.log().slice(-4_000)}`).toBe(201)
    return body
  }
  /** A machine that has nothing but the archive. */
  async function onAnother(archive: string, args: readonly string[] = [], env: Record<string, string> = {}) {
    const root = await mkdtemp(join(folder, 'other-'))
    return { root, ...run('restore', root, [join(folder, archive), ...args], env) }
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-backup-'))
    daemon = await startDaemon({ env: { JWT_EXPIRE_MINUTES: '600', DATABASE_URL: undefined } })
    token = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
    for (let n = 0; n < PACKAGES; n++) await upload(n)
    const form = new FormData()
    const advisories = Array.from({ length: 150 }, (_, n) =>
      osvRecord(`UBUNTU-CVE-2026-${20_000 + n}`, [['Ubuntu:22.04:LTS', `filler${n}`, '1']]),
    )
    form.set('file', new Blob([new Uint8Array(osvZip(advisories))]), 'all.zip')
    expect((await daemon.call('POST', '/security/database', { token, form })).status).toBe(200)
    const made = await daemon.call<{ token: string }>('POST', '/auth/api-tokens', {
      token,
      body: { name: 'builder', role: 'uploader' },
    })
    apiToken = made.body.token
    const gpg = await daemon.call<{ fingerprint: string }>('GET', '/settings/gpg', { token })
    fingerprint = gpg.body.fingerprint
    await daemon.call('POST', '/auth/users', { token, body: { ...ADA, role: 'maintainer', email: 'a@b.example' } })
    const ada = await daemon.call<{ access_token: string }>('POST', '/auth/token', { body: ADA })
    const as = { token: ada.body.access_token }
    seed = (await daemon.call<{ secret: string }>('POST', '/auth/mfa/setup', { ...as, body: {} })).body.secret
    const confirmed = await daemon.call('POST', '/auth/mfa/confirm', { ...as, body: { totp_code: codeNow(seed) } })
    expect(confirmed.status, confirmed.text).toBe(200)
  })
  afterAll(async () => {
    await daemon.close()
    await rm(folder, { recursive: true, force: true })
  })

  test('is made while uploads go on, one for two who ask, and has no secret in the clear', async () => {
    const uploading = upload(PACKAGES)
    const [one, other] = await Promise.all([back(), back()])
    await uploading
    expect(other.file_name).toBe(one.file_name)
    expect(one).toMatchObject({ encrypted: false, proved_at: null })
    expect([PACKAGES, PACKAGES + 1]).toContain(one.packages)
    archives.plain = one.file_name
    await copyFile(join(daemon.root, 'backups', one.file_name), join(folder, one.file_name))
    const key = (await readFile(join(daemon.root, '.secrets', 'settings'), 'utf8')).trim()
    const listed = spawnSync('tar', ['-xzOf', join(folder, one.file_name)], { maxBuffer: 2 ** 30 })
    expect(listed.status).toBe(0)
    expect(listed.stdout.includes(key)).toBe(false)
    const got = await daemon.call('GET', `/backup/${one.file_name}`, { token })
    expect(got.headers.get('content-length')).toBe(String((await readFile(join(folder, one.file_name))).length))
  })

  test('with a passphrase is encrypted, with the secrets; a drill proves it, and that is on record', async () => {
    await daemon.call('PATCH', '/settings/', { token, body: { backup: { passphrase: PASSPHRASE } } })
    const made = await back()
    expect(made).toMatchObject({ encrypted: true, packages: PACKAGES + 1 })
    expect(made.file_name).toMatch(/\.tar\.gz\.age$/)
    archives.sealed = made.file_name
    await copyFile(join(daemon.root, 'backups', made.file_name), join(folder, made.file_name))
    const drilled = await daemon.call<Backup>('POST', `/backup/${made.file_name}/drill`, { token })
    expect(drilled).toMatchObject({ status: 200, body: { proved_at: expect.any(String), proof_failed: null } })
    expect((await daemon.call('GET', '/health', { token })).body).toMatchObject({
      checks: { info: { backups: { ok: true, count: 2, last_proved_restore: drilled.body.proved_at } } },
    })
    const { body } = await daemon.call<{ backups: Backup[] }>('GET', '/backup/', { token })
    expect(body.backups.map(one => one.file_name)).toEqual([archives.sealed, archives.plain])
    expect((await daemon.call('GET', '/backup/..%2Fsettings.json', { token })).status).toBe(404)
  })

  test('is restored on another machine: packages, accounts, second factors, API tokens, vulnerability data and the signing key work there', async () => {
    const { root, status, said } = await onAnother(archives.sealed, [], { GATEHOUSE_BACKUP_PASSPHRASE: PASSPHRASE })
    expect([status, said]).toEqual([0, expect.stringContaining(`restored: ${PACKAGES + 1} packages`)])
    const other = await startDaemon({ root, env: { DATABASE_URL: undefined } })
    try {
      expect(await served(other)).toEqual(names(PACKAGES + 1))
      const again = await other.setupAdmin()
      expect((await other.call('GET', '/settings/gpg', { token: again })).body).toMatchObject({ fingerprint })
      expect((await other.call('GET', '/security/engines', { token: again })).body).toMatchObject({
        database: { generation: 1 },
      })
      const more = await other.upload(await buildDeb({ name: 'later', version: '1.0' }), { token: apiToken })
      expect(more.body).toMatchObject({ status: 'published' })
      expect(await served(other)).toContain('later')
      const asked = await other.call<{ mfa_token: string }>('POST', '/auth/token', { body: ADA })
      const { mfa_token } = asked.body
      // the next code: one is taken once, and this one may have been used for setting up
      const proof = { mfa_token, totp_code: codeNow(seed, 30) }
      const passed = await other.call('POST', '/auth/mfa/authenticate', { body: proof })
      expect(passed).toMatchObject({ status: 200, body: { access_token: expect.any(String) } })
      // signed by the key that came along, else apt would have nothing to trust
      expect((await other.call('GET', '/repos/dists/jammy/InRelease')).text).toContain('BEGIN PGP SIGNED MESSAGE')
    } finally {
      await other.stop()
    }
    expect(run('verify', root)).toMatchObject({ status: 0 })
  })

  test.each([
    [
      'a wrong passphrase',
      'sealed',
      async () => undefined,
      'not-it',
      'not the one that the archive was encrypted with',
    ],
    ['no passphrase', 'sealed', async () => undefined, '', 'is encrypted. Give the passphrase'],
    [
      'a flipped byte',
      'plain',
      async (path: string) => {
        const bytes = await readFile(path)
        const at = Math.floor(bytes.length / 2)
        bytes[at] = (bytes[at] ?? 0) ^ 1
        await writeFile(path, bytes)
      },
      '',
      'damaged',
    ],
    ['a cut archive', 'plain', (path: string) => truncate(path, 40_000), '', 'damaged or cut short'],
  ] as const)(
    '%s is refused with the reason, and nothing is there afterwards',
    async (_what, which, harm, passphrase, why) => {
      const broken = `broken-${which}`
      await copyFile(join(folder, archives[which]), join(folder, broken))
      await harm(join(folder, broken))
      const { root, status, said } = await onAnother(broken, [], { GATEHOUSE_BACKUP_PASSPHRASE: passphrase })
      expect([status, said]).toEqual([1, expect.stringContaining(why)])
      expect((await readdir(root)).filter(name => name !== '.pg')).toEqual([])
    },
  )

  test('an archive whose manifest was changed together with a file is refused: the signature does not fit', async () => {
    const to = await mkdtemp(join(folder, 'forged-'))
    expect(spawnSync('tar', ['-xzf', join(folder, archives.plain), '-C', to]).status).toBe(0)
    const [top = ''] = await readdir(to)
    const path = join(to, top, 'manifest.json')
    const manifest = JSON.parse(await readFile(path, 'utf8')) as {
      files: { path: string; size: number; sha256: string }[]
    }
    const [member] = manifest.files.filter(file => file.path.startsWith('audit/'))
    if (member === undefined) throw new Error('the backup has no audit log')
    const other = Buffer.from('{}\n')
    await writeFile(join(to, top, member.path), other)
    Object.assign(member, { size: other.length, sha256: createHash('sha256').update(other).digest('hex') })
    await writeFile(path, `${JSON.stringify(manifest, null, 1)}\n`)
    const files = [...manifest.files.map(file => file.path), 'manifest.json', 'manifest.json.asc']
    const forged = ['-czf', join(folder, 'forged.tar.gz'), '-C', to, ...files.map(file => `${top}/${file}`)]
    expect(spawnSync('tar', forged).status).toBe(0)
    const { status, said } = await onAnother('forged.tar.gz')
    expect([status, said]).toEqual([1, expect.stringContaining('was changed after it was made')])
    const whole = await onAnother(archives.plain)
    expect([whole.status, whole.said]).toEqual([0, expect.stringContaining(`signed with ${fingerprint}`)])
  })

  const long = { timeout: 600_000 }
  test(
    'restored over a service goes back to that moment, and undone it is what it was; killed anywhere it is one of the two',
    long,
    async () => {
      await upload(PACKAGES + 1)
      await daemon.stop()
      const { root } = daemon
      const args = [join(folder, archives.sealed)]
      const env = { GATEHOUSE_BACKUP_PASSPHRASE: PASSPHRASE }
      for (const [point, left] of [
        ['restore:read', PACKAGES + 2],
        ['restore:before-decision', PACKAGES + 2],
        ['restore:before-commit', PACKAGES + 1],
        ['restore:after-commit', PACKAGES + 1],
        ['restore:between-places#4', PACKAGES + 1],
      ] as const) {
        expect(run('restore', root, args, { ...env, GATEHOUSE_FAILPOINT: point }).signal, point).toBe('SIGKILL')
        await daemon.restart()
        expect(await served(daemon), point).toEqual(names(left))
        await daemon.stop()
        expect(run('verify', root), point).toMatchObject({ status: 0 })
        if (left === PACKAGES + 2) continue
        expect(run('restore', root, ['--undo']), point).toMatchObject({ status: 0 })
      }
      expect(run('restore', root, args, env)).toMatchObject({ status: 0 })
      await daemon.restart()
      expect(await served(daemon)).toEqual(names(PACKAGES + 1))
      await daemon.stop()
      expect(run('restore', root, ['--undo'])).toMatchObject({ status: 0 })
      await daemon.restart()
      expect(await served(daemon)).toEqual(names(PACKAGES + 2))
      expect(run('restore', root, args, env)).toMatchObject({
        status: 1,
        said: expect.stringContaining('Stop the service first'),
      })
    },
  )
})
