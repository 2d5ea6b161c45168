import { createHash, randomBytes } from 'node:crypto'
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createAptRoot, type AptRoot } from '../support/apt.ts'
import { buildDeb, EICAR } from '../support/packages.ts'
import { osvRecord, osvZip } from '../support/zip.ts'
import { bootMachine, type Answer, type Machine } from './support/machine.ts'
import { createImageRoot, type Root } from './support/root.ts'

const { lacking, image, suite } = inject('appliance')
const ADMIN = { username: 'admin', password: 'Correct-horse-7' }

describe.skipIf(lacking !== undefined)(`an appliance that boots (${lacking ?? suite})`, () => {
  let root: Root
  let machine: Machine
  let work: string
  let seconds: number
  let token: string | undefined
  let client: AptRoot

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'gatehouse-boot-'))
    root = await createImageRoot(image)
    const began = performance.now()
    machine = await bootMachine(root, 'gatehouse')
    await machine.healthy()
    seconds = (performance.now() - began) / 1000
  })
  afterAll(async () => {
    await client?.close()
    await machine?.close()
    await root?.close()
    await rm(work, { recursive: true, force: true })
  })

  const call: Machine['call'] = (method, path, more = {}) =>
    machine.call(method, path.startsWith('/api') ? path : `/api/v1${path}`, { token, ...more })
  async function signIn(): Promise<void> {
    const { body, text } = await machine.call('POST', '/api/v1/auth/token', { json: ADMIN })
    expect(text).toContain('access_token')
    token = String(body.access_token)
  }
  async function upload(content: Buffer, filename: string, distribution = 'bookworm'): Promise<Answer> {
    await writeFile(join(work, filename), content)
    return call('POST', '/upload/', { form: { file: `@${join(work, filename)}`, distribution } })
  }
  const secretOf = async (name: string): Promise<string> =>
    new RegExp(`^${name}=(.*)$`, 'm').exec(await root.read('etc/gatehouse/secrets'))?.[1] ?? ''
  const screen = (): Promise<string> => machine.must('cat', '/run/gatehouse/screen')
  const rootFingerprint = async (): Promise<string> =>
    (
      await machine.must(
        'openssl',
        'x509',
        '-in',
        '/etc/gatehouse/authority/authority.crt',
        '-noout',
        '-fingerprint',
        '-sha256',
      )
    )
      .split('=')[1]
      ?.replaceAll(/[:\s]/g, '') ?? ''

  /** What the server shows to whoever connects: its certificate, and the authority above it. */
  async function shownOnTheWire(): Promise<{ readonly authority: string; readonly server: string }> {
    const { out } = await machine.lan(
      'sh',
      '-c',
      `openssl s_client -connect ${machine.address}:443 -showcerts </dev/null`,
    )
    const [server = '', authority = ''] = out.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
    const digest = (pem: string): string =>
      createHash('sha256')
        .update(Buffer.from(pem.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64'))
        .digest('hex')
    return { server, authority: digest(authority).toUpperCase() }
  }

  test('is healthy over TLS, and nothing failed on the way', async () => {
    console.log(`appliance: healthy ${seconds.toFixed(1)} s after the start`)
    const failed = await machine.must('systemctl', '--failed', '--no-legend', '--plain')
    // a container has no root file system of its own to remount
    expect(failed.split('\n').filter(line => line !== '' && !line.startsWith('systemd-remount-fs'))).toEqual([])
    expect(await machine.call('GET', '/health/live')).toMatchObject({ status: 200 })
    const { out } = await machine.lan(
      'curl',
      '-sk',
      '-o',
      '/dev/null',
      '-w',
      '%{http_version}',
      `https://${machine.address}/`,
    )
    expect(out).toBe('2')
  })

  test('shows on its terminal the fingerprint that the wire has, and the token', async () => {
    const fingerprint = await rootFingerprint()
    expect((await shownOnTheWire()).authority).toBe(fingerprint)
    const wanted = `Setup token  ${await secretOf('SETUP_TOKEN')}`
    await machine.until('the token on the terminal', async () => machine.terminal().includes(wanted))
    const shown = machine.terminal().replaceAll(/\s+/g, ' ')
    expect(shown).toContain(`Fingerprint ${(fingerprint.match(/.{4}/g) ?? []).join(' ')}`)
    expect(await screen()).toContain(`https://${machine.address}\n`)
  })

  test('lets in TLS and HTTP, and nothing else', async () => {
    const ports = [21, 22, 25, 53, 80, 111, 443, 3310, 5353, 5355, 5432, 6379, 8000, 8080, 9100]
    const tried = await Promise.all(
      ports.map(async port => {
        const dial = `exec 3<>/dev/tcp/${machine.address}/${port}`
        return (await machine.lan('timeout', '3', 'bash', '-c', dial)).code === 0 ? [port] : []
      }),
    )
    expect(tried.flat()).toEqual([80, 443])
    // somebody listens there, but not for the LAN
    expect((await machine.inside('bash', '-c', 'exec 3<>/dev/tcp/127.0.0.1/8000')).code).toBe(0)
    const addresses = await machine.must('ss', '-Hltn')
    expect(addresses).not.toMatch(/:(?:22|5432|3310)\b/)
  })

  test('sets the clock as nobody but _chrony, and announces itself as avahi', async () => {
    const processes = await machine.must('ps', '-eo', 'user:20,args')
    expect(processes).toMatch(/^avahi +avahi-daemon: running/m)
    // a container may not set the clock, so chronyd does not start in one: here without that right, in the same sandbox
    const folder = '/run/systemd/system/chrony.service.d'
    const start = 'AmbientCapabilities=\\nExecStart=\\nExecStart=/usr/sbin/chronyd -U -x'
    const write = `printf '[Unit]\\nConditionCapability=\\n[Service]\\n${start}\\n' >${folder}/zz.conf`
    await machine.must('sh', '-c', `mkdir -p ${folder} && ${write} && systemctl daemon-reload`)
    await machine.must('systemctl', 'start', 'chrony')
    expect(await machine.must('chronyc', 'tracking')).toContain('Reference ID')
    expect(await machine.must('ps', '-eo', 'user:20,args')).toMatch(/^_chrony +\S*chronyd -U/m)
  })

  test('leads HTTP to HTTPS, and answers no question about trees from outside', async () => {
    const plain = await machine.lan(
      'curl',
      '-s',
      '-o',
      '/dev/null',
      '-w',
      '%{http_code} %{redirect_url}',
      `http://${machine.address}/x?y=1`,
    )
    expect(plain.out).toBe(`308 https://${machine.address}/x?y=1`)
    for (const scheme of ['http', 'https']) {
      const args = ['-sk', '-o', '/dev/null', '-w', '%{http_code}', '-H', 'X-Tree: /repos/pool/jammy']
      expect((await machine.lan('curl', ...args, `${scheme}://${machine.address}/internal/tree`)).out).toBe('404')
    }
    expect((await machine.call('GET', '/metrics')).status).toBe(401)
    expect((await machine.call('GET', '/metrics', { token: await secretOf('METRICS_TOKEN') })).status).toBe(200)
  })

  test('is found in the network by mDNS, as the desktop program looks', async () => {
    const looking = `
      const { startDiscovery } = await import('${join(import.meta.dirname, '../../electron/core/discovery.ts')}')
      const clock = { every: (ms, run) => { const t = setInterval(run, 1000); return () => clearInterval(t) } }
      const discovery = startDiscovery({ clock, log: { line: () => undefined } })
      setInterval(() => { const [one] = discovery.list(); if (one) { console.log(JSON.stringify(one)); process.exit(0) } }, 50)
      setTimeout(() => process.exit(1), 20000)`
    const found = await machine.until('an announcement', async () => {
      const { code, out } = await machine.lan(process.execPath, '--input-type=module', '-e', looking)
      return code === 0 && (JSON.parse(out) as Record<string, unknown>)
    })
    const name = (await root.read('etc/hostname')).trim()
    expect(name).toMatch(/^gatehouse-[0-9a-f]{4}$/)
    expect(found).toMatchObject({ name, address: machine.address, is_set_up: false })
  })

  test('makes the first admin for whoever has the token', async () => {
    const json = { admin_username: ADMIN.username, admin_password: ADMIN.password }
    const headers = (given: string) => ({ 'X-Setup-Token': given })
    expect((await call('POST', '/setup/', { json, headers: headers('AAAAA-AAAAA-AAAAA-AAAAA') })).status).toBe(403)
    const { body } = await call('GET', '/setup/preflight')
    expect(body).toMatchObject({
      ready: true,
      checks: { tls: { ok: true }, secrets: { ok: true }, database: { ok: true } },
    })
    expect((await call('POST', '/setup/', { json, headers: headers(await secretOf('SETUP_TOKEN')) })).status).toBe(201)
    await signIn()
    await machine.until('a screen without the token', async () => !(await screen()).includes('Setup token'))
  })

  test('without signatures of malware nothing is published', async () => {
    expect((await call('POST', '/distributions/init', { json: { codename: 'bookworm' } })).status).toBe(200)
    await writeFile(join(work, 'all.zip'), osvZip(advisories()))
    expect((await call('POST', '/security/database', { form: { file: `@${join(work, 'all.zip')}` } })).status).toBe(200)
    const { status, body } = await upload(await buildDeb({ name: 'early', version: '1.0' }), 'early.deb')
    expect([status, body.status]).toEqual([201, 'pending_review'])
    expect(body.pipeline).toMatchObject({ antivirus: 'unavailable' })
    const { body: antivirus } = await call('GET', '/security/clamav/status')
    expect(antivirus.error).toMatch(/has no signatures of malware yet, and does not start without them\. They come by/)
  })

  test('starts clamd by itself when signatures come, and takes what is clean', async () => {
    const signatures = `Eicar-Anywhere:0:*:${Buffer.from(EICAR).toString('hex')}`
    await machine.must('sh', '-c', `echo ${signatures} >/var/lib/clamav/test.ndb`)
    await machine.until(
      'clamd',
      async () => (await machine.inside('systemctl', 'is-active', 'clamav-daemon')).code === 0,
    )
    await machine.until(
      'its socket',
      async () => (await machine.inside('test', '-S', '/run/clamav/clamd.ctl')).code === 0,
    )
    const content = await buildDeb({ name: 'hello', version: '1.0', files: { 'usr/share/hello': 'hello' } })
    const answer = await machine.until('a verdict', async () => {
      const { status, body } = await upload(content, 'hello.deb')
      return (body.pipeline as { antivirus?: string }).antivirus === 'clean' && { status, body }
    })
    expect(answer.body.status).toBe('published')
  })

  test('refuses malware inside a package', async () => {
    const infected = await buildDeb({ name: 'infected', version: '1.0', files: { 'usr/share/x/readme': EICAR } })
    const { status, body } = await upload(infected, 'infected.deb')
    expect([status, body.status]).toEqual([200, 'quarantined'])
  })

  test('takes a large package, and scans it', async () => {
    const files = { 'usr/share/large': randomBytes(40_000_000) }
    const { status, body } = await upload(
      await buildDeb({ name: 'large', version: '1.0', files, compression: 'none' }),
      'large.deb',
    )
    expect([status, body.status, body.pipeline]).toEqual([
      201,
      'published',
      expect.objectContaining({ antivirus: 'clean' }),
    ])
  })

  test('apt installs from it, by the signed index, without TLS and with', async () => {
    const key = (await machine.call('GET', '/repos/gpg.key')).text
    client = await createAptRoot({
      source: `http://${machine.address}/repos bookworm main`,
      key,
      within: ['nsenter', '-t', String(machine.outer), '-n', '--'],
    })
    await appendFile(
      join(client.folder, 'apt.conf'),
      `Acquire::https::CaInfo "${join(root.folder, 'etc/gatehouse/authority/authority.crt')}";\n`,
    )
    expect(await client.update()).toMatchObject({ code: 0 })
    expect(await client.install('hello')).toMatchObject({ code: 0 })
    expect(await client.installedVersion('hello')).toBe('1.0')
    await useTls()
    expect(await client.update()).toMatchObject({ code: 0 })
    expect(await client.install('large')).toMatchObject({ code: 0 })
    expect(await client.installedVersion('infected')).toBeUndefined()
  })

  async function useTls(): Promise<void> {
    const list = join(client.folder, 'etc/apt/sources.list')
    await writeFile(list, (await readFile(list, 'utf8')).replace('http://', 'https://'))
  }

  test('downloads that nginx served are counted', async () => {
    const counted = await machine.until('two downloads', async () => {
      const { body } = await call('GET', '/downloads/stats?days=7')
      return (body.summary as { total_downloads: number }).total_downloads >= 2 && body
    })
    expect(counted.per_package).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'hello', downloads: 1 }),
        expect.objectContaining({ name: 'large', downloads: 1 }),
      ]),
    )
  })

  const packagePath = async (name: string): Promise<string> => {
    const { text } = await machine.call('GET', '/repos/dists/bookworm/main/binary-amd64/Packages')
    return `/repos/${new RegExp(`^Package: ${name}$[^]*?^Filename: (\\S+)$`, 'm').exec(text)?.[1] ?? ''}`
  }
  /** Status and the header that only nginx writes. */
  async function fetched(path: string, password?: string, scheme = 'https'): Promise<string> {
    const who = password === undefined ? [] : ['-u', `machine:${password}`]
    const { out } = await machine.lan(
      'curl',
      '-sk',
      '-D',
      '-',
      '-o',
      '/dev/null',
      ...who,
      `${scheme}://${machine.address}${path}`,
    )
    const cache = /^cache-control: (.*?)\r?$/im.exec(out)?.[1] ?? ''
    return `${/ (\d{3})/.exec(out)?.[1]} ${/^location:/im.test(out) ? 'location' : cache}`
  }

  describe('a private tree', () => {
    let path: string
    beforeAll(async () => {
      path = await packagePath('hello')
      expect(await fetched(path)).toBe('200 public, max-age=31536000, immutable')
      const rule = { private: true, roles: ['maintainer'] }
      expect((await call('PUT', '/access/distributions/bookworm', { json: rule })).status).toBe(200)
      await machine.until('a closed door', async () => (await fetched(path)).startsWith('401'))
    })
    afterAll(async () => {
      expect((await call('PUT', '/access/distributions/bookworm', { json: { private: false } })).status).toBe(200)
      await machine.until('an open door', async () => (await fetched(path)).startsWith('200'))
    })
    const tokenOf = async (json: object): Promise<string> =>
      String((await call('POST', '/auth/api-tokens', { json })).body.token)

    test('comes from disk for those who may see it, and not for others', async () => {
      const scopes = { distributions: ['bookworm'] }
      const allowed = await tokenOf({ name: 'machine', role: 'reader', scopes })
      expect(await fetched(path, allowed)).toBe('200 private, max-age=31536000, immutable')
      expect(await fetched(path, await tokenOf({ name: 'other', role: 'reader' }))).toBe('404 no-store')
      expect(await fetched(path, 'wrong')).toBe('401 no-store')
      const index = `/repos/dists/bookworm/main/binary-amd64/by-hash/SHA256/${'0'.repeat(64)}`
      expect(await fetched(index)).toBe('401 no-store')
    })

    test('asks for no token without TLS: it would cross the network in the clear', async () => {
      expect(await fetched(path, undefined, 'http')).toBe('308 location')
      expect(await fetched('/repos/dists/bookworm/InRelease', undefined, 'http')).toBe('308 location')
    })
  })

  test.each([
    '/repos/../etc/gatehouse/secrets',
    '/repos/pool/bookworm/..%2f..%2f..%2fsettings.json',
    '/repos/dists/bookworm/.state.json',
    '/repos/pool/bookworm/main/../../../../settings.json',
    '/repos/settings.json',
    '/repos/manifests/deb/bookworm/hello/1.0_amd64.json',
    '/repos/quarantine/',
    '/apk/keys/',
    '/repos/pool/bookworm/%2e%2e/%2e%2e/%2e%2e/audit/',
  ])('serves nothing but trees: %s', async path => {
    const { out } = await machine.lan(
      'curl',
      '-sk',
      '--path-as-is',
      '-o',
      '/dev/null',
      '-w',
      '%{http_code}',
      `https://${machine.address}${path}`,
    )
    expect(['400', '404']).toContain(out)
  })

  test('packages are served while the daemon is away, and the console says that it starts', async () => {
    const path = await packagePath('hello')
    expect(await fetched(path)).toMatch(/^200/)
    await machine.must('systemctl', 'stop', 'gatehouse')
    expect(await fetched(path)).toMatch(/^200/)
    expect(await machine.call('GET', '/api/v1/setup/status')).toMatchObject({
      status: 503,
      body: { detail: 'Gatehouse is starting. Try again in a few seconds.' },
    })
    expect((await machine.call('GET', '/')).text).toContain('<h1>Gatehouse is starting</h1>')
    await machine.must('systemctl', 'start', 'gatehouse')
    await machine.healthy()
  })

  test.each(['gatehouse', 'gatehouse-web', 'gatehouse-postgres', 'gatehouse-status', 'clamav-daemon', 'avahi-daemon'])(
    'comes back when %s is killed',
    async unit => {
      const pid = async (): Promise<string> => (await machine.must('systemctl', 'show', '-P', 'MainPID', unit)).trim()
      const before = await pid()
      expect(before).not.toBe('0')
      await machine.must('kill', '-KILL', before)
      await machine
        .until('another process', async () => !['0', before].includes(await pid()))
        .catch(async (error: Error) => {
          const said = await machine.must('journalctl', '-u', unit, '-n', '40', '--no-pager', '-o', 'short-monotonic')
          throw new Error(`${error.message}\n${said}${await machine.must('systemctl', 'status', '--full', unit)}`)
        })
      await machine.healthy()
      expect(await fetched(await packagePath('hello'))).toMatch(/^200/)
      await machine.until('a session', async () => (await call('GET', '/auth/me')).status === 200)
    },
  )

  test('a daemon that stands still is ended and started again', async () => {
    await machine.must('mkdir', '-p', '/run/systemd/system/gatehouse.service.d')
    await machine.must(
      'sh',
      '-c',
      'printf "[Service]\\nWatchdogSec=9\\n" >/run/systemd/system/gatehouse.service.d/test.conf',
    )
    await machine.must('systemctl', 'daemon-reload')
    await machine.must('systemctl', 'restart', 'gatehouse')
    const pid = (await machine.must('systemctl', 'show', '-P', 'MainPID', 'gatehouse')).trim()
    await machine.must('kill', '-STOP', pid)
    await machine.until(
      'another process',
      async () => !['0', pid].includes((await machine.must('systemctl', 'show', '-P', 'MainPID', 'gatehouse')).trim()),
    )
    expect(await machine.must('journalctl', '-u', 'gatehouse', '-o', 'cat')).toContain('Watchdog timeout')
    await machine.must('rm', '/run/systemd/system/gatehouse.service.d/test.conf')
    await machine.must('systemctl', 'daemon-reload')
    await machine.healthy()
  })

  test('an address that comes is in the certificate within seconds, of the same authority', async () => {
    const before = await shownOnTheWire()
    await machine.must('ip', 'address', 'add', '10.99.0.77/24', 'dev', 'host0')
    const authority = join(root.folder, 'etc/gatehouse/authority/authority.crt')
    await machine.until('a certificate for it', async () => {
      return (await machine.lan('curl', '-s', '--cacert', authority, 'https://10.99.0.77/health/live')).code === 0
    })
    // workers of the web server that end show the one of before to whom they still take
    const after = await machine.until('it on the wire', async () => {
      const shown = await shownOnTheWire()
      return !['', before.server].includes(shown.server) && shown
    })
    expect(after.authority).toBe(before.authority)
    await machine.until('it on the screen', async () => (await screen()).includes('https://10.99.0.77\n'))
  })

  test('knows itself, so that it is no source of its own packages', async () => {
    const allow = { notifications: { allow_private_hosts: '10.99.0.0/24' } }
    expect((await call('PATCH', '/settings/', { json: allow })).status).toBe(200)
    const json = { id: 'bookworm', url: `http://${machine.address}/repos` }
    const { status, text } = await call('POST', '/import/sources/test', { json })
    expect([status, text]).toEqual([200, expect.stringContaining('10.99.0.2 is an address of this machine')])
  })

  test('is the same machine after a restart', async () => {
    const [wire, secrets] = [(await shownOnTheWire()).authority, await root.read('etc/gatehouse/secrets')]
    await machine.reboot()
    await machine.healthy()
    expect((await shownOnTheWire()).authority).toBe(wire)
    expect(await root.read('etc/gatehouse/secrets')).toBe(secrets)
    await signIn()
    expect(await fetched(await packagePath('large'))).toMatch(/^200/)
    expect(await client.update()).toMatchObject({ code: 0 })
    const { status, body } = await upload(await buildDeb({ name: 'hello', version: '2.0' }), 'hello2.deb')
    expect([status, body.status]).toEqual([201, 'published'])
  })
})

/** Enough of them that what they do not name counts as known. */
const advisories = () =>
  Array.from({ length: 150 }, (_, n) => osvRecord(`DEBIAN-CVE-2021-${20_000 + n}`, [['Debian:12', `filler${n}`, '1']]))
