import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { BASE, startSlapd, type TestSlapd } from '../support/slapd.ts'
import { lacking } from '../support/tools.ts'

const CLI = join(import.meta.dirname, '..', '..', 'server', 'cli', 'restore.ts')
const PASSPHRASE = 'Eleven-blue-herons'

describe.skipIf(lacking('slapd', 'ldap-utils', 'openssl').length > 0)('people of a directory', () => {
  let slapd: TestSlapd
  let folder: string
  let daemon: Daemon
  beforeAll(async () => {
    slapd = await startSlapd()
    folder = await mkdtemp(join(tmpdir(), 'gh-directory-'))
    daemon = await startDaemon({ env: { DATABASE_URL: undefined } })
  })
  afterAll(async () => {
    await daemon.close()
    await slapd.close()
    await rm(folder, { recursive: true, force: true })
  })

  const logIn = async (to: Daemon, username: string, password: string): Promise<number> =>
    (await to.call('POST', '/auth/token', { body: { username, password } })).status

  test('log in with the same password after a restore on another machine, and with no other one', async () => {
    const token = await daemon.setupAdmin()
    const ldap = {
      ...{ enabled: true, host: '127.0.0.1', port: slapd.port, use_ssl: false, use_starttls: false },
      ...{ bind_dn: `cn=svc,${BASE}`, bind_password: 'svcpw', base_dn: BASE, user_filter: '(uid={username})' },
      ...{ auto_provision: true, default_role: 'reader' },
    }
    const body = { ldap, backup: { passphrase: PASSPHRASE } }
    const set = await daemon.call('PATCH', '/settings/', { token, body })
    expect(set.status, set.text).toBe(200)
    expect(await logIn(daemon, 'alice', 'alicepw')).toBe(200)
    const made = await daemon.call<{ file_name: string }>('POST', '/backup/', { token })
    expect(made.status).toBe(201)
    const root = join(folder, 'other')
    const { DATABASE_URL: _, ...env } = process.env
    const done = spawnSync(process.execPath, [CLI, join(daemon.root, 'backups', made.body.file_name)], {
      env: { ...env, REPOS_ROOT: root, ENV: 'test', GATEHOUSE_BACKUP_PASSPHRASE: PASSPHRASE },
      encoding: 'utf8',
    })
    expect(done.status, done.stderr).toBe(0)
    const other = await startDaemon({ root, env: { DATABASE_URL: undefined } })
    try {
      // one who has an account here, and one whom only the directory knows: the service account is asked for both
      expect(await logIn(other, 'alice', 'alicepw')).toBe(200)
      expect(await logIn(other, 'bob', 'bobpw')).toBe(200)
      expect(await logIn(other, 'alice', 'bobpw')).toBe(401)
      const again = await other.setupAdmin()
      const { body: users } = await other.call<{ items: object[] }>('GET', '/auth/users', { token: again })
      expect(JSON.stringify(users)).toContain('"alice"')
      await slapd.stop()
      expect(await logIn(other, 'alice', 'alicepw')).not.toBe(200)
    } finally {
      await slapd.start()
      await other.stop()
    }
  })
})
