import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { bind } from '../../server/core/contract.ts'
import { withLdap } from '../../server/directory/ldap-connection.ts'
import { createLdapDirectory, type LdapDirectory } from '../../server/directory/ldap.ts'
import { sso } from '../../server/features/sso/contract.ts'
import { ssoHandlers } from '../../server/features/sso/handlers.ts'
import { PASSWORD, startAccounts, type TestAccounts } from '../support/accounts.ts'
import type { Answer } from '../support/app.ts'
import { BASE, startSlapd, type TestSlapd } from '../support/slapd.ts'
import { lacking } from '../support/tools.ts'
import { createTls, type TestTls } from '../support/tls.ts'

const missing = lacking('slapd', 'ldap-utils', 'openssl')
const PEOPLE = `ou=people,${BASE}`

describe.skipIf(missing.length > 0)('logging in with a directory', () => {
  let slapd: TestSlapd
  let stranger: TestTls
  let it: TestAccounts
  let directory: LdapDirectory
  let warned: string[] = []
  let root: string

  beforeAll(async () => {
    ;[slapd, stranger] = await Promise.all([startSlapd(), createTls()])
    directory = createLdapDirectory({
      settings: () => it.settings.now().ldap,
      warn: (facts, message) => {
        warned.push(`${message}: ${JSON.stringify(facts)}`)
      },
      timeoutMs: 2_000,
    })
    const notAsked = (): never => {
      throw new Error('nobody asks for single sign-on here')
    }
    it = await startAccounts({
      directory,
      routes: bind(sso, ssoHandlers, {
        settings: { now: () => it.settings.now() },
        address: { console: () => 'http://nobody.example' },
        directory,
        provider: { discover: notAsked },
        oidc: { start: notAsked, callback: notAsked, exchange: notAsked },
        isAllowed: () => true,
      }),
    })
  })
  afterAll(async () => {
    await it.close()
    await Promise.all([slapd.close(), stranger.close()])
  })
  beforeEach(async () => {
    warned = []
    await it.stock.clear()
    await it.user('root', 'admin')
    root = await it.session('root')
    await set({
      enabled: true,
      host: '127.0.0.1',
      port: slapd.port,
      use_ssl: false,
      use_starttls: false,
      bind_dn: `cn=svc,${BASE}`,
      bind_password: 'svcpw',
      base_dn: BASE,
      user_filter: '(uid={username})',
      attr_username: 'uid',
      attr_email: 'mail',
      attr_fullname: 'cn',
      attr_groups: 'memberOf',
      group_admin: 'repo-admins',
      group_maintainer: 'unix-maintainers',
      group_uploader: `cn=repo-uploaders,ou=groups,${BASE}`,
      group_auditor: '',
      group_reader: '',
      default_role: 'reader',
      auto_provision: true,
      verify_cert: true,
      ca_bundle_path: '',
    })
  })

  const set = async (ldap: Record<string, unknown>): Promise<void> => {
    await it.settings.patch({ ldap })
  }
  const status = async (username: string, password: string): Promise<number> =>
    (await it.login(username, password)).status
  /** The profile of whoever logs in. */
  async function profile(username: string, password = `${username}pw`): Promise<Record<string, unknown>> {
    const answer = await it.login(username, password)
    expect(answer.status).toBe(200)
    return (await it.app.ask('GET', '/api/v1/auth/me', { token: String(answer.json().access_token) })).json()
  }
  const users = async (): Promise<string[]> =>
    (await it.stock.db.query<{ username: string }>('select username from account order by 1')).map(
      ({ username }) => username,
    )

  describe('lets people in', () => {
    test('with the attributes and the role of the directory', async () => {
      expect(await profile('alice')).toMatchObject({
        username: 'alice',
        role: 'admin',
        full_name: 'alice Test',
        email: 'alice@example.test',
        origin: 'ldap',
      })
      expect(await users()).toEqual(['alice', 'root'])
      expect(await it.audited('LOGIN')).toMatchObject([
        { result: 'SUCCESS', user: 'alice', detail: 'With a directory password.' },
      ])
      expect(await it.audited('USER_CREATE')).toHaveLength(1)
    })

    test.each([
      ['alice', 'admin', 'in two groups: the highest role wins'],
      ['bob', 'uploader', 'by the DN of a group'],
      ['carol', 'reader', 'in no group that means anything: the default'],
      ['dave', 'maintainer', 'by a group that lists members by name'],
    ])('%s as %s: %s', async (name, role) => {
      expect(await profile(name)).toMatchObject({ username: name, role })
    })

    test('whose group has a comma in its name, by name and by DN', async () => {
      await set({ group_auditor: 'Repo, Auditors' })
      expect(await profile('carol')).toMatchObject({ role: 'auditor' })
      await set({ group_auditor: `CN=repo\\2c auditors , OU=Groups,${BASE.toUpperCase()}` })
      expect(await profile('carol')).toMatchObject({ role: 'auditor' })
      await set({ group_auditor: `cn=Repo, Auditors,ou=elsewhere,${BASE}` })
      expect(await profile('carol')).toMatchObject({ role: 'reader' })
    })

    test('with the default role the settings name, and a role that follows the groups at each login', async () => {
      await set({ default_role: 'auditor' })
      expect(await profile('carol')).toMatchObject({ role: 'auditor' })
      await slapd.modify(
        `dn: cn=repo-uploaders,ou=groups,${BASE}\nchangetype: modify\nadd: member\nmember: uid=carol,${PEOPLE}\n`,
      )
      expect(await profile('carol')).toMatchObject({ role: 'uploader' })
      await slapd.modify(
        `dn: cn=repo-uploaders,ou=groups,${BASE}\nchangetype: modify\ndelete: member\nmember: uid=carol,${PEOPLE}\n`,
      )
      expect(await profile('carol')).toMatchObject({ role: 'auditor' })
      expect((await it.audited('USER_ROLE_CHANGE')).length).toBe(2)
    })

    test.each([
      ['in the clear', () => ({})],
      ['over StartTLS', () => ({ use_starttls: true, host: 'localhost', ca_bundle_path: slapd.tls.caPath })],
      [
        'over LDAPS',
        () => ({ use_ssl: true, port: slapd.tlsPort, host: 'localhost', ca_bundle_path: slapd.tls.caPath }),
      ],
      [
        'over LDAPS to an address in the certificate',
        () => ({ use_ssl: true, port: slapd.tlsPort, ca_bundle_path: slapd.tls.caPath }),
      ],
      ['over LDAPS without verification', () => ({ use_ssl: true, port: slapd.tlsPort, verify_cert: false })],
      ['over StartTLS without verification', () => ({ use_starttls: true, verify_cert: false })],
    ])('%s', async (_, ldap) => {
      await set(ldap())
      expect(await profile('bob')).toMatchObject({ username: 'bob', role: 'uploader' })
    })

    test("with a filter of the admin's own", async () => {
      await set({ user_filter: '(&(objectClass=inetOrgPerson)(|(uid={username})(mail={username})))' })
      expect(await profile('bob@example.test', 'bobpw')).toMatchObject({ username: 'bob' })
      await set({ user_filter: `(&(uid={username})(memberOf=cn=repo-admins,ou=groups,${BASE}))` })
      expect([await status('alice', 'alicepw'), await status('bob', 'bobpw')]).toEqual([200, 401])
    })
  })

  describe('keeps out', () => {
    test.each([
      ['a wrong password', 'alice', 'wrong'],
      ['somebody unknown', 'mallory', 'malpw'],
      ['a name that two people have', 'twin', 'twinpw'],
      ['a name that no account can have', 'a name no account can have', 'strangepw'],
      ['the service account', 'svc', 'svcpw'],
      ['a DN instead of a name', `uid=alice,${PEOPLE}`, 'alicepw'],
    ])('%s', async (_, username, password) => {
      expect(await status(username, password)).toBe(401)
      expect(await users()).toEqual(['root'])
    })

    test('an empty password, which directories take for nobody', async () => {
      expect(await directory.authenticate('alice', '')).toEqual({ kind: 'refused' })
      expect(await status('alice', '')).toBe(422)
      expect(await users()).toEqual(['root'])
    })

    test.each([
      '*',
      'a*',
      'alic*',
      'alice)(uid=*',
      'alice)(|(uid=*',
      '*)(uid=*))(|(uid=*',
      'alice)(objectClass=*',
      'x)(|(uid=alice',
      'alice\\2a',
      '\\2a',
      '\\',
      '(alice)',
      'alice)(userPassword=*',
      'alice*)(uid=alice',
      'alice,ou=people',
      ')(cn=*',
    ])('a name that is a piece of a filter: %s', async username => {
      for (const password of ['alicepw', 'bobpw', 'twinpw'])
        expect(await directory.authenticate(username, password)).toEqual({ kind: 'refused' })
      expect(await status(username, 'alicepw')).toBe(401)
      expect(await users()).toEqual(['root'])
    })
    test('a name with a zero byte or a line break, without asking', async () => {
      for (const username of ['alice\0', 'alice\n', '\0*'])
        expect(await directory.authenticate(username, 'alicepw')).toEqual({ kind: 'refused' })
    })

    test('those who have no account, where none is made for them', async () => {
      await set({ auto_provision: false })
      expect([await status('alice', 'alicepw'), await users()]).toEqual([401, ['root']])
      await set({ auto_provision: true })
      await profile('alice')
      await set({ auto_provision: false })
      expect(await profile('alice')).toMatchObject({ role: 'admin' })
    })

    test('whoever is switched off here', async () => {
      await profile('bob')
      await it.app.ask('PATCH', '/api/v1/auth/users/bob', { token: root, body: { active: false } })
      expect([await status('bob', 'bobpw'), await status('bob', 'wrong')]).toEqual([401, 401])
    })

    test('everybody of the directory while it is switched off', async () => {
      await profile('bob')
      await set({ enabled: false })
      expect(await status('bob', 'bobpw')).toBe(401)
    })
  })

  describe('local accounts', () => {
    test("come first: the directory's password of the same name is refused", async () => {
      await it.user('alice', 'reader')
      expect([await status('alice', 'alicepw'), await status('alice', PASSWORD)]).toEqual([401, 200])
      expect(await it.stock.db.query(`select role, origin from account where username = 'alice'`)).toEqual([
        { role: 'reader', origin: 'local' },
      ])
    })
    test('and those of the directory are locked by guesses under any spelling', async () => {
      expect(await status('bob', 'bobpw')).toBe(200)
      for (const name of ['BOB', 'Bob', 'bOb', 'boB', 'BOb']) expect(await status(name, 'wrong')).toBe(401)
      expect(await status('bob', 'bobpw')).toBe(401)
    })

    test('are not reached by another spelling of their name', async () => {
      await it.user('alice', 'reader')
      expect([await status('ALICE', 'alicepw'), await status('Alice', PASSWORD)]).toEqual([401, 401])
      expect(await users()).toEqual(['alice', 'root'])
    })
  })

  describe('a directory that cannot be used', () => {
    test('that is down gives 503, and local accounts get in as before', async () => {
      await slapd.stop()
      try {
        const answer = await it.login('alice', 'alicepw')
        expect([answer.status, answer.json().code]).toEqual([503, 'directory_unavailable'])
        expect([await status('root', PASSWORD), await status('root', 'wrong')]).toEqual([200, 401])
      } finally {
        await slapd.start()
      }
      expect(await status('alice', 'alicepw')).toBe(200)
    })

    test('that takes the connection and does not answer is given up in time', async () => {
      const sockets = new Set<Socket>()
      const silent = createServer(socket => {
        sockets.add(socket)
      })
      await new Promise<void>(resolve => {
        silent.listen(0, '127.0.0.1', resolve)
      })
      for (const how of [{}, { use_starttls: true }, { use_ssl: true }]) {
        await set({ port: (silent.address() as AddressInfo).port, use_starttls: false, use_ssl: false, ...how })
        expect(await directory.authenticate('alice', 'alicepw')).toMatchObject({ kind: 'unavailable' })
      }
      for (const socket of sockets) socket.destroy()
      silent.close()
    })

    test('whose encrypted connection is cut between two questions: the password does not follow in the clear', async () => {
      const heard: Buffer[][] = []
      const cut: (() => void)[] = []
      const between = createServer(socket => {
        const chunks: Buffer[] = []
        heard.push(chunks)
        const upstream = connect(slapd.port, '127.0.0.1')
        const end = (): void => {
          socket.destroy()
          upstream.destroy()
        }
        cut.push(end)
        socket.on('error', end).on('data', (chunk: Buffer) => {
          chunks.push(chunk)
          upstream.write(chunk)
        })
        upstream.on('error', end).on('data', (chunk: Buffer) => {
          socket.write(chunk)
        })
      })
      await new Promise<void>(resolve => {
        between.listen(0, '127.0.0.1', resolve)
      })
      const address = {
        ...it.settings.now().ldap,
        use_starttls: true,
        ca_bundle_path: slapd.tls.caPath,
        port: (between.address() as AddressInfo).port,
      }
      const talk = withLdap(address, 1_500, async connection => {
        expect(await connection.bind(`cn=svc,${BASE}`, 'svcpw')).toBe(true)
        for (const end of cut) end()
        await new Promise(resolve => {
          setTimeout(resolve, 100)
        }) // the library has to notice, which nobody can be asked about
        return connection.bind(`uid=alice,${PEOPLE}`, 'alicepw')
      })
      await expect(talk).rejects.toMatchObject({ name: 'DirectoryFault' })
      between.close()
      expect(heard).toHaveLength(1)
      expect(Buffer.concat(heard.flat()).includes('alicepw')).toBe(false)
    })

    test.each([
      ['whose certificate nobody signed', () => ({ use_ssl: true, port: slapd.tlsPort })],
      [
        'whose certificate another authority signed',
        () => ({ use_ssl: true, port: slapd.tlsPort, ca_bundle_path: stranger.caPath }),
      ],
      [
        'whose certificate another authority signed, over StartTLS',
        () => ({ use_starttls: true, ca_bundle_path: stranger.caPath }),
      ],
      [
        'whose certificate is for another name',
        () => ({ use_ssl: true, port: slapd.tlsPort, host: '127.0.0.2', ca_bundle_path: slapd.tls.caPath }),
      ],
      ['whose CA file is not there', () => ({ use_ssl: true, port: slapd.tlsPort, ca_bundle_path: '/nowhere/ca.pem' })],
      ['that refuses the service account', () => ({ bind_password: 'wrong' })],
      ['with an empty password of the service account', () => ({ bind_password: '' })],
      ['that has no such base', () => ({ base_dn: 'dc=nowhere,dc=test' })],
      ['with a filter that is none', () => ({ user_filter: '(uid={username}' })],
      ['with a filter that would find anybody', () => ({ user_filter: '(objectClass=inetOrgPerson)' })],
      ['that does not let everybody search', () => ({ bind_dn: '' })],
    ])('%s, is never a yes', async (_, ldap) => {
      await set(ldap())
      const answer = await it.login('alice', 'alicepw')
      expect([401, 503]).toContain(answer.status)
      expect(await users()).toEqual(['root'])
      for (const secret of ['alicepw', 'svcpw'])
        expect(JSON.stringify(warned) + answer.text + JSON.stringify(it.app.logged)).not.toContain(secret)
    })
  })

  describe('POST /settings/test-ldap', () => {
    const trial = async (body?: Record<string, unknown>): Promise<Answer> =>
      it.app.ask('POST', '/api/v1/settings/test-ldap', { token: root, ...(body === undefined ? {} : { body }) })

    test('says how the saved settings do, without a body', async () => {
      expect((await trial()).json()).toMatchObject({
        ok: true,
        server: `127.0.0.1:${slapd.port}`,
        bound_as: `cn=svc,${BASE}`,
        connection: expect.stringContaining('in the clear') as string,
      })
    })
    test('looks a user up, and answers the role they would get', async () => {
      expect((await trial({ test_username: 'alice' })).json()).toMatchObject({
        person: {
          dn: `uid=alice,${PEOPLE}`,
          username: 'alice',
          role: 'admin',
          email: 'alice@example.test',
          groups: [`cn=repo-admins,ou=groups,${BASE}`, `cn=repo-uploaders,ou=groups,${BASE}`],
        },
      })
      expect((await trial({ test_username: 'mallory' })).json()).toMatchObject({
        code: 'ldap_failed',
        detail: expect.stringContaining('finds nobody') as string,
      })
    })
    test('tries what the form holds, in both shapes, and saves nothing', async () => {
      const before = it.settings.now()
      for (const body of [
        { group_admin: 'repo-uploaders', bind_password: '***', test_username: 'bob' },
        { ldap: { group_admin: 'repo-uploaders' }, test_username: 'bob' },
      ]) {
        expect((await trial(body)).json()).toMatchObject({ person: { username: 'bob', role: 'admin' } })
      }
      const secure = await trial({
        use_ssl: true,
        port: slapd.tlsPort,
        ca_bundle_path: slapd.tls.caPath,
        bind_password: 'svcpw',
      })
      expect(secure.json()).toMatchObject({ ok: true, connection: 'LDAPS, certificate verified' })
      expect(it.settings.now()).toEqual(before)
    })
    test.each([
      ['a wrong password', { bind_password: 'wrong' }, 'ldap_failed', /refused the service account/, 'bind'],
      ['nobody there', { port: 1, bind_password: 'svcpw' }, 'ldap_failed', /nothing listens there/, 'reach'],
      ['no host', { host: '', bind_password: 'x' }, 'ldap_failed', /ldap.host is empty/, 'reach'],
      ['a key that is none', { hosst: 'x' }, 'unknown_setting', /ldap.hosst/, undefined],
      ['a value that is none', { port: 0 }, 'bad_setting', /ldap.port/, undefined],
      ['a base that is none', { base_dn: 'dc=nowhere' }, 'ldap_failed', /no entry that ldap.base_dn names/, 'person'],
    ])('tells what is wrong, and at which step: %s', async (_, body, code, why, step) => {
      const answer = await trial(body)
      expect(answer.json()).toMatchObject({ code, facts: step === undefined ? {} : { step } })
      expect(JSON.stringify(answer.json().detail)).toMatch(why)
      expect(answer.text).not.toContain('svcpw')
    })
    test('a certificate that nobody vouches for is a fault of the connection', async () => {
      const answer = await trial({ use_ssl: true, port: slapd.tlsPort, bind_password: 'svcpw' })
      expect(answer.json()).toMatchObject({ code: 'ldap_failed', facts: { step: 'secure' } })
    })
    test('never sends the saved password to another server than it was saved for', async () => {
      const heard: Buffer[] = []
      const thief = createServer(socket => {
        socket.on('data', (chunk: Buffer) => heard.push(chunk))
      })
      await new Promise<void>(resolve => {
        thief.listen(0, '127.0.0.1', resolve)
      })
      for (const body of [
        { port: (thief.address() as AddressInfo).port },
        { ldap: { port: (thief.address() as AddressInfo).port, bind_password: '***' } },
        { use_ssl: true, verify_cert: false },
      ]) {
        expect((await trial(body)).json()).toMatchObject({ code: 'bad_setting' })
      }
      thief.close()
      expect(heard).toEqual([])
    })
    test('is for admins', async () => {
      await it.user('mae', 'maintainer')
      expect((await it.app.ask('POST', '/api/v1/settings/test-ldap', { token: await it.session('mae') })).status).toBe(
        403,
      )
    })
  })
})
