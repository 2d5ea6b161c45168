import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { report } from '../support/machine-report.ts'
import { startSshd, type TestSshd } from '../support/sshd.ts'
import { lacking, mustRun } from '../support/tools.ts'

type Body = Record<string, unknown>
// a busy machine answers within it, and one that hangs is not waited for much longer
const SECONDS = 10

const missing = lacking('openssh-server')

describe.skipIf(missing.length > 0)('machines that are asked over SSH (needs openssh-server)', () => {
  let it: Daemon
  let admin: string
  let folder: string
  let publicKey: string
  const servers: TestSshd[] = []

  const call = <B = Body>(method: string, path: string, body?: unknown): Promise<Answer<B>> =>
    it.call<B>(method, path, { token: admin, ...(body === undefined ? {} : { body }) })
  const show = async (id: number): Promise<Body> => (await call('GET', `/inventory/clients/${id}`)).body

  /** An sshd that lets the service in. */
  async function serve(command?: string): Promise<TestSshd> {
    const sshd = await startSshd(command === undefined ? {} : { command })
    servers.push(sshd)
    await sshd.allow(publicKey)
    return sshd
  }
  /** An sshd that answers every login with this text. */
  async function recorded(name: string, text: string | Buffer): Promise<TestSshd> {
    const path = join(folder, name)
    await writeFile(path, text)
    return serve(`cat ${path}`)
  }
  async function add(hostname: string, { port, user }: Pick<TestSshd, 'port' | 'user'>): Promise<number> {
    const { status, body } = await call<{ id: number }>('POST', '/inventory/clients', {
      hostname,
      connection_type: 'ssh',
      ip: '127.0.0.1',
      ssh_port: port,
      ssh_user: user,
    })
    expect(status).toBe(201)
    return body.id
  }
  const ask = async (id: number): Promise<string> =>
    (await call<{ job_id: string }>('POST', `/inventory/clients/${id}/scan`)).body.job_id
  /** The job, once it has ended. */
  async function ended(job: string): Promise<Body> {
    const read = async (): Promise<Body> => (await call('GET', `/jobs/${job}`)).body
    await expect.poll(async () => (await read()).status, { timeout: 60_000 }).toMatch(/^(done|error)$/)
    return read()
  }
  async function scan(id: number): Promise<Body> {
    await ended(await ask(id))
    return show(id)
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-scans-'))
    it = await startDaemon()
    admin = await it.setupAdmin()
    await call('PATCH', '/settings/', { inventory: { command_seconds: SECONDS } })
    publicKey = (await call<{ public_key: string }>('GET', '/inventory/ssh-key')).body.public_key
  })
  afterAll(async () => {
    for (const one of servers) await one.close()
    await it.close()
    await rm(folder, { recursive: true, force: true })
  })

  test('the key of the service is an ed25519 key, the same at each request, and its private half is nowhere to read', async () => {
    const again = await call<{ public_key: string; fingerprint: string }>('GET', '/inventory/ssh-key')
    expect(again.body.public_key).toBe(publicKey)
    const path = join(folder, 'key.pub')
    await writeFile(path, publicKey)
    expect(await mustRun('ssh-keygen', ['-lf', path])).toMatch(
      new RegExp(`^256 ${again.body.fingerprint.replaceAll(/[+/]/g, '.')} gatehouse \\(ED25519\\)`),
    )
  })

  test('this machine tells what dpkg says; its host key is trusted at first sight', async () => {
    const sshd = await serve()
    const id = await add('this-machine', sshd)
    const installed = (await mustRun('dpkg-query', ['-W', '-f=${db:Status-Abbrev}\n']))
      .split('\n')
      .filter(line => /^[ih]i/.test(line)).length
    expect(await scan(id)).toMatchObject({
      packages: installed,
      last_scan_status: 'ok',
      last_error: null,
      known_host: {
        hostname: 'this-machine',
        key_type: 'ssh-ed25519',
        fingerprint: await sshd.fingerprint(),
        trusted_by: 'first sight',
        offered_fingerprint: null,
      },
    })
    expect((await call('GET', `/inventory/clients/${id}/scan/status`)).body).toMatchObject({
      running: false,
      job_id: null,
      status: 'ok',
    })
  })

  test('a changed host key blocks until an admin trusts exactly that one, or forgets the old one', async () => {
    const sshd = await recorded('relay', report({ lines: ['ii \tadduser\t3.134\tall\tadduser\t3.134'] }))
    const id = await add('mail-relay', sshd)
    await scan(id)
    const trusted = await sshd.fingerprint()
    await sshd.changeHostKey()
    const offered = await sshd.fingerprint()
    const blocked = await scan(id)
    expect(blocked).toMatchObject({
      packages: 1,
      last_scan_status: 'error',
      last_error_code: 'inventory_host_key_changed',
      last_error: `mail-relay shows another host key, ${offered}; trusted is ${trusted}. Nothing was sent to it. An admin compares them at the machine and resets the key.`,
      known_host: { fingerprint: trusted, offered_fingerprint: offered, offered_key_type: 'ssh-ed25519' },
    })
    // it stays so, whatever it shows
    expect(await scan(id)).toMatchObject({ last_error_code: 'inventory_host_key_changed' })
    expect((await call<{ total: number }>('GET', '/inventory/clients?status=key_changed')).body.total).toBe(1)
    const reset = (body: object) => call('POST', `/inventory/clients/${id}/host-key/reset`, body)
    expect((await reset({ fingerprint: trusted })).body.code).toBe('inventory_not_offered')
    expect((await reset({ fingerprint: offered })).body).toMatchObject({
      known_host: { fingerprint: offered, trusted_by: 'admin', offered_fingerprint: null },
    })
    expect(await scan(id)).toMatchObject({ last_scan_status: 'ok' })
    await sshd.changeHostKey()
    expect(await scan(id)).toMatchObject({ last_scan_status: 'error' })
    expect((await reset({})).body).toEqual({
      known_host: null,
      message: 'The key of mail-relay is forgotten. The next one that is seen is trusted.',
    })
    expect(await scan(id)).toMatchObject({
      last_scan_status: 'ok',
      known_host: { fingerprint: await sshd.fingerprint() },
    })
    const lines = await call<{ items: { detail: string }[] }>('GET', '/artifacts/audit/logs?action=INVENTORY_HOST_KEY')
    expect(lines.body.items.map(({ detail }) => detail)).toHaveLength(4)
  })

  test('a login that is refused, a host that is not there and a user that is none say so', async () => {
    const sshd = await serve()
    await sshd.allow('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIP0tOfLbUPd+MGQ2tfcAsgXOqWvBDhoLHPDJ9CJIQZk0 another')
    expect(await scan(await add('locked', sshd))).toMatchObject({
      packages: null,
      last_error_code: 'inventory_login_refused',
      last_error: `locked does not let ${sshd.user} in: it refused the login. Put the public key of this service into authorized_keys there.`,
    })
    const gone = await startSshd()
    await gone.close()
    expect(await scan(await add('gone', gone))).toMatchObject({
      last_error_code: 'inventory_unreachable',
      last_error: `gone cannot be reached at 127.0.0.1, port ${gone.port}: ECONNREFUSED. Look at its address and port.`,
    })
    expect(await scan(await add('nobody-there', { port: sshd.port, user: 'no-such-user' }))).toMatchObject({
      last_error_code: 'inventory_login_refused',
    })
  })

  test.each<[string, string | Buffer, string, string]>([
    [
      'cut',
      report({ lines: ['ii \tadduser\t3.134\tall\tadduser\t3.134'] }).split('==> end')[0] ?? '',
      'inventory_bad_report',
      'The report is refused: it was cut off: its last mark is missing. What was known before is still there.',
    ],
    ['silent', '', 'inventory_scan_failed', 'silent was asked and answered nothing of use: it ran no shell.'],
    [
      'endless',
      Buffer.alloc(9 * 1024 * 1024, 0x20),
      'inventory_scan_failed',
      'endless was asked and answered nothing of use: it answered more than 8 MB.',
    ],
  ])('what is %s is refused', async (name, text, code, said) => {
    const id = await add(name, await recorded(name, text))
    expect(await scan(id)).toMatchObject({ packages: null, last_error_code: code, last_error: said })
  })

  test('lists of rpm and apk are read', async () => {
    const rpm = await recorded(
      'rpm',
      report({ format: 'rpm', lines: ['bash\t0\t5.1.8-6.el9_1\tx86_64\tbash-5.1.8-6.el9_1.src.rpm'] }),
    )
    const apk = await recorded(
      'apk',
      report({ format: 'apk', lines: ['P:musl', 'V:1.2.5-r0', 'A:x86_64', 'o:musl', ''] }),
    )
    expect(await scan(await add('build-02', rpm))).toMatchObject({ distribution: 'almalinux9', packages: 1 })
    expect(await scan(await add('edge-south-4', apk))).toMatchObject({ distribution: 'alpine3.20', packages: 1 })
  })

  test('of 20 machines of which five hang, 15 are known soon and five are said to hang; who asks twice gets one job', async () => {
    const good = await recorded('good', report({ lines: ['ii \tadduser\t3.134\tall\tadduser\t3.134'] }))
    // each ends with its login
    const hanging = await serve('tail -f /dev/null --pid=$PPID')
    const sockets = new Set<Socket>()
    const mute: Server = createServer(socket => sockets.add(socket))
    await new Promise<void>(resolve => mute.listen(0, '127.0.0.1', resolve))
    const silent = { port: (mute.address() as AddressInfo).port, user: 'root' }
    const ids = await Promise.all(
      Array.from({ length: 20 }, (_, n) => add(`host-${n}`, n % 4 === 3 ? (n < 12 ? hanging : silent) : good)),
    )
    const jobs = await Promise.all(ids.map(ask))
    const again = await call<{ job_id: string; is_new: boolean }>('POST', `/inventory/clients/${ids[3]}/scan`)
    expect([again.body.job_id, again.body.is_new]).toEqual([jobs[3], false])
    await Promise.all(jobs.map(ended))
    const states = await Promise.all(ids.map(show))
    expect(states.filter(one => one.last_scan_status === 'ok')).toHaveLength(15)
    const failed = states.filter(one => one.last_scan_status === 'error')
    expect(failed.map(one => [one.last_error_code, one.last_error])).toEqual(
      [3, 7, 11, 15, 19].map(n => [
        'inventory_timeout',
        `host-${n} did not answer within ${SECONDS} s. Look whether it hangs, then ask again.`,
      ]),
    )
    for (const socket of sockets) socket.destroy()
    await new Promise(resolve => mute.close(resolve))
  })

  test('a machine that reports itself, or is switched off, is not asked', async () => {
    const { body } = await call<{ id: number }>('POST', '/inventory/clients', {
      hostname: 'agent-1',
      connection_type: 'agent',
    })
    expect((await call('POST', `/inventory/clients/${body.id}/scan`)).body.code).toBe('inventory_not_by_ssh')
    const id = await add('switched-off', { port: 22, user: 'root' })
    await call('PATCH', `/inventory/clients/${id}`, { enabled: false })
    expect((await call('POST', `/inventory/clients/${id}/scan`)).body.code).toBe('inventory_disabled')
  })
})
