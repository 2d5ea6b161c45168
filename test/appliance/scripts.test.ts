import { spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parseAddress } from '../../electron/core/address.ts'
import { findProgram, lacking, mustRun, run, type Ran } from '../support/tools.ts'

const PROGRAMS = join(import.meta.dirname, '../../appliance/root/usr/lib/gatehouse')
const DAY = 86_400_000

let folder: string
let env: Record<string, string>
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-scripts-'))
  for (const name of ['etc', 'repos', 'system/ssh', 'run', 'avahi'])
    await mkdir(join(folder, name), { recursive: true })
  await writeFile(join(folder, 'system/hostname'), 'gatehouse\n')
  await writeFile(join(folder, 'system/machine-id'), '0123456789abcdef0123456789abcdef\n')
  await writeFile(join(folder, 'release'), 'APP_VERSION=1.2.3\n')
  env = {
    GATEHOUSE_ETC: join(folder, 'etc'),
    GATEHOUSE_REPOS: join(folder, 'repos'),
    GATEHOUSE_RUN: join(folder, 'run'),
    GATEHOUSE_AVAHI: join(folder, 'avahi'),
    GATEHOUSE_RELEASE: join(folder, 'release'),
    GATEHOUSE_SERVICE: 'http://127.0.0.1:9', // nobody
    GATEHOUSE_WEB_GROUP: String(process.getgid?.() ?? 0),
    GATEHOUSE_NAME: 'gatehouse-1',
    GATEHOUSE_ADDRESSES: '10.20.1.10 fd00::10',
    GATEHOUSE_SCREENS: '',
    GATEHOUSE_UNITS: join(folder, 'units'),
    SYSTEM_ETC: join(folder, 'system'),
  }
})
afterEach(() => rm(folder, { recursive: true }))

const program = (name: string, ...args: string[]): Promise<Ran> => run(join(PROGRAMS, name), args, { env })
const certificate = async (path = 'etc/tls/server.crt'): Promise<X509Certificate> =>
  new X509Certificate(await readFile(join(folder, path)))
const authority = (): Promise<X509Certificate> => certificate('etc/authority/authority.crt')
const days = (from: string, to: string | Date): number => (new Date(to).getTime() - new Date(from).getTime()) / DAY

test.each([
  ['1.22.1', 'http2 default_server', 'http2 on'],
  ['1.25.0', 'http2 default_server', 'http2 on'],
  ['1.25.1', 'http2 on', 'http2 default_server'],
  ['1.26.3', 'http2 on', 'http2 default_server'],
])('nginx %s is asked for HTTP/2 in its own words: %s', async (version, words, others) => {
  const out = join(folder, 'listen.conf')
  const { code } = await run(join(PROGRAMS, 'web-listen'), [out], { env: { ...env, NGINX_VERSION: version } })
  const said = await readFile(out, 'utf8')
  expect([code, said.includes(words), said.includes(others)]).toEqual([0, true, false])
})

describe.skipIf(lacking('openssl').length > 0)('the certificate (needs openssl)', () => {
  test('an authority of ten years signs one of 397 days, for every name and address', async () => {
    expect(await program('certificate')).toEqual({ code: 0, out: 'issued\n', err: '' })
    const [ca, server] = [await authority(), await certificate()]
    expect(days(ca.validFrom, ca.validTo)).toBe(3_651)
    expect(ca.ca && ca.verify(ca.publicKey)).toBe(true)
    expect(
      await mustRun('openssl', ['x509', '-noout', '-text', '-in', join(folder, 'etc/authority/authority.crt')]),
    ).toMatch(/CA:TRUE, pathlen:0[^]*Certificate Sign, CRL Sign/)
    expect(days(server.validFrom, server.validTo)).toBe(397)
    expect(server.ca).toBe(false)
    expect(server.verify(ca.publicKey)).toBe(true)
    expect(server.subjectAltName?.split(', ')).toEqual([
      'DNS:gatehouse-1',
      'DNS:gatehouse-1.local',
      'DNS:localhost',
      'IP Address:10.20.1.10',
      'IP Address:FD00:0:0:0:0:0:0:10',
      'IP Address:127.0.0.1',
    ])
  })

  test('begins a day before: a console with a late clock takes it', async () => {
    await program('certificate')
    for (const { validFrom } of [await authority(), await certificate()]) {
      expect(days(validFrom, new Date())).toBeGreaterThan(0.99)
      expect(days(validFrom, new Date())).toBeLessThan(1.01)
    }
  })

  test('is left alone while it fits, also when an address is gone', async () => {
    await program('certificate')
    const { serialNumber } = await certificate()
    for (const addresses of ['10.20.1.10 fd00::10', 'fd00::10', '']) {
      env.GATEHOUSE_ADDRESSES = addresses
      expect(await program('certificate')).toEqual({ code: 0, out: '', err: '' })
    }
    expect((await certificate()).serialNumber).toBe(serialNumber)
  })

  test.each<[string, () => Promise<unknown>]>([
    ['an address comes', async () => (env.GATEHOUSE_ADDRESSES = '10.20.1.11')],
    ['the name changes', async () => (env.GATEHOUSE_NAME = 'packages')],
    ['an admin adds a name', () => writeFile(join(folder, 'etc/names'), '# of ours\npackages.nordwerk.example\n')],
    ['its key is another one', () => program('certificate').then(swapKey)],
    ['it is not of this authority', () => rm(join(folder, 'etc/authority'), { recursive: true })],
    ['it is damaged', () => writeFile(join(folder, 'etc/tls/server.crt'), 'no certificate')],
  ])('is made anew when %s, and the authority stays where it is there', async (what, change) => {
    await program('certificate')
    const [ca, server] = [await authority(), await certificate()]
    await change()
    expect(await program('certificate')).toMatchObject({ code: 0, out: 'issued\n' })
    expect((await certificate()).serialNumber).not.toBe(server.serialNumber)
    expect((await authority()).fingerprint256 === ca.fingerprint256).toBe(what !== 'it is not of this authority')
    expect((await certificate()).verify((await authority()).publicKey)).toBe(true)
    expect(await program('certificate')).toMatchObject({ code: 0, out: '' })
  })

  async function swapKey(): Promise<void> {
    const key = await mustRun('openssl', ['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'])
    await writeFile(join(folder, 'etc/tls/server.key'), key)
  }

  test('an address that comes while it is made is in the next one', async () => {
    // nothing the first time somebody asks, then an address
    const ip = `#!/bin/sh\n[ -e ${folder}/asked ] && echo '2: eth0 inet 192.0.2.5/24 scope global eth0'\n: >${folder}/asked\n`
    await mkdir(join(folder, 'bin'))
    await writeFile(join(folder, 'bin/ip'), ip, { mode: 0o755 })
    const { GATEHOUSE_ADDRESSES: _, ...others } = env
    env = { ...others, PATH: `${join(folder, 'bin')}:${process.env.PATH ?? ''}` }
    expect(await program('certificate')).toMatchObject({ code: 0, out: 'issued\n' })
    expect(await program('certificate')).toMatchObject({ code: 0, out: 'issued\n' })
    expect((await certificate()).checkIP('192.0.2.5')).toBe('192.0.2.5')
    expect(await program('certificate')).toMatchObject({ code: 0, out: '' })
  })

  test.skipIf(lacking('faketime').length > 0)(
    'is made anew 30 days before its end, and when the clock was set back (needs faketime)',
    async () => {
      const at = (when: string): Promise<Ran> => run('faketime', [when, join(PROGRAMS, 'certificate')], { env })
      await at('2026-03-01 12:00:00')
      expect((await at('2027-02-20 12:00:00')).out).toBe('')
      expect((await at('2027-03-10 12:00:00')).out).toBe('issued\n')
      expect((await at('2026-03-02 12:00:00')).out).toBe('issued\n')
    },
  )

  test('keys are for nobody else', async () => {
    await program('certificate')
    const mode = async (path: string): Promise<string> => ((await stat(join(folder, path))).mode & 0o777).toString(8)
    expect([await mode('etc/authority/authority.key'), await mode('etc/tls/server.key')]).toEqual(['600', '640'])
  })
})

describe.skipIf(lacking('openssl', 'openssh-server').length > 0)('the first boot (needs openssl, ssh-keygen)', () => {
  const secrets = (): Promise<string> => readFile(join(folder, 'etc/secrets'), 'utf8')

  test('makes every secret that production asks for, a token of 100 bits, and a host key', async () => {
    expect(await program('first-boot')).toMatchObject({ code: 0, err: '' })
    expect((await secrets()).split('\n').map(line => line.replace(/=.*/, ''))).toEqual([
      'JWT_SECRET_KEY',
      'WEBHOOK_SECRET',
      'LICENSE_VENDOR_SECRET',
      'METRICS_TOKEN',
      'SETUP_TOKEN',
      '',
    ])
    expect(await secrets()).toMatch(/^SETUP_TOKEN=([0-9A-HJKMNP-TV-Z]{5}-){3}[0-9A-HJKMNP-TV-Z]{5}$/m)
    expect(await secrets()).toMatch(/^JWT_SECRET_KEY=[0-9a-f]{64}$/m)
    expect((await stat(join(folder, 'etc/secrets'))).mode & 0o777).toBe(0o600)
    expect((await readdir(join(folder, 'system/ssh'))).sort()).toEqual([
      'ssh_host_ed25519_key',
      'ssh_host_ed25519_key.pub',
    ])
    expect(JSON.parse(await readFile(join(folder, 'repos/settings.json'), 'utf8'))).toEqual({
      downloads: { access_log: '/var/log/gatehouse-web/access.log' },
    })
  })

  test('changes nothing the second time', async () => {
    const all = (): Promise<string> =>
      mustRun('sh', ['-c', 'find . -type f -exec sha256sum {} + | sort'], { cwd: folder })
    await program('first-boot')
    const before = await all()
    await program('first-boot')
    expect(await all()).toBe(before)
  })

  test('adds a secret that a later version needs, and keeps the others', async () => {
    await program('first-boot')
    const before = await secrets()
    await writeFile(join(folder, 'etc/secrets'), before.replace(/^METRICS_TOKEN=.*\n/m, ''))
    await program('first-boot')
    expect((await secrets()).split('\n').filter(line => !before.includes(line))).toEqual([
      expect.stringMatching(/^METRICS_TOKEN=[0-9a-f]{64}$/),
    ])
  })

  test('gives a machine of an image a name of its own, and leaves any other name', async () => {
    await program('first-boot')
    expect(await readFile(join(folder, 'system/hostname'), 'utf8')).toBe('gatehouse\n')
    env.GATEHOUSE_IMAGE = 'yes'
    await program('first-boot')
    const named = await readFile(join(folder, 'system/hostname'), 'utf8')
    expect(named).toMatch(/^gatehouse-[0-9a-f]{4}\n$/)
    await writeFile(join(folder, 'system/hostname'), 'packages\n')
    await program('first-boot')
    expect(await readFile(join(folder, 'system/hostname'), 'utf8')).toBe('packages\n')
  })

  test('two machines share no secret', async () => {
    await program('first-boot')
    const first = [await secrets(), (await authority()).fingerprint256]
    for (const name of ['etc', 'repos', 'system/ssh']) {
      await rm(join(folder, name), { recursive: true })
      await mkdir(join(folder, name))
    }
    await program('first-boot')
    const values = (text: string): string[] => text.split('\n').flatMap(line => line.split('=')[1] ?? [])
    expect(values(await secrets()).filter(value => first[0]?.includes(value))).toEqual([])
    expect((await authority()).fingerprint256).not.toBe(first[1])
  })
})

test('a screen has the menu where that is enabled, unless an admin switched it off', async () => {
  env.GATEHOUSE_SCREENS = '/dev/tty1 /dev/ttyS0'
  const has = async (screen: string): Promise<boolean> => (await program('menu', 'allowed', screen)).code === 0
  expect(await has('tty1')).toBe(false)
  await mkdir(join(folder, 'units/multi-user.target.wants'), { recursive: true })
  await writeFile(join(folder, 'units/multi-user.target.wants/gatehouse-menu@tty1.service'), '')
  expect([await has('tty1'), await has('ttyS0'), await has('tty2')]).toEqual([true, true, false])
  for (const [line, isOff] of [
    ['GATEHOUSE_MENU=off', true],
    ['gatehouse_menu = "no"', true],
    ['GATEHOUSE_MENU=on', false],
    ['#GATEHOUSE_MENU=off', false],
  ] as const) {
    await writeFile(join(folder, 'etc/environment'), `LOG_LEVEL=info\n${line}\n`)
    expect([line, await has('tty1')]).toEqual([line, !isOff])
  }
})

describe('a factory reset', () => {
  const MARK = 'var/lib/gatehouse-machine/factory-reset'
  const OWN = [
    ...[
      'etc/gatehouse/secrets',
      'etc/gatehouse/tls/server.key',
      'etc/gatehouse/firewall.d/ssh.nft',
      'repos/pool/a.deb',
    ],
    ...['repos/.secrets/settings', 'var/lib/gatehouse-postgres/17/PG_VERSION', 'var/lib/gatehouse/x'],
    ...[
      'var/lib/gatehouse-machine/network.json',
      'var/log/gatehouse-web/access.log',
      'var/log/journal/0123/system.journal',
    ],
  ]
  const OF_IMAGE = [
    'etc/systemd/network/10-gatehouse.network',
    'etc/ssh/ssh_host_ed25519_key',
    'root/.ssh/authorized_keys',
  ]
  const KEPT = ['etc/systemd/network/80-wired.network', 'opt/gatehouse/releases/1/release', 'var/lib/clamav/main.cvd']
  async function put(paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), 'x')
    }
  }
  const there = (paths: readonly string[]): string[] => paths.filter(path => existsSync(join(folder, path)))
  beforeEach(async () => {
    env.GATEHOUSE_ROOT = folder
    await put([...OWN, ...OF_IMAGE, ...KEPT])
    await writeFile(join(folder, 'etc/hostname'), 'packages\n')
  })

  test('happens only where it was asked for', async () => {
    expect((await program('reset')).code).toBe(0)
    expect(there([...OWN, ...OF_IMAGE, ...KEPT])).toEqual([...OWN, ...OF_IMAGE, ...KEPT])
  })

  test('of an image removes what is its owner’s, and the mark last', async () => {
    await put([MARK, 'usr/share/gatehouse/image', 'etc/chrony/chrony.conf'])
    await writeFile(join(folder, 'etc/chrony/chrony.conf'), '#gatehouse# pool 2.debian.pool.ntp.org iburst\n')
    expect((await program('reset')).code).toBe(0)
    expect(there([...OWN, ...OF_IMAGE, ...KEPT, MARK])).toEqual(KEPT)
    expect(await readFile(join(folder, 'etc/hostname'), 'utf8')).toBe('gatehouse\n')
    expect(await readFile(join(folder, 'etc/chrony/chrony.conf'), 'utf8')).toBe('pool 2.debian.pool.ntp.org iburst\n')
    expect(there(['repos', 'etc/gatehouse', 'var/lib/gatehouse-postgres'])).toHaveLength(3)
  })

  test('of a machine that somebody manages leaves name, network and SSH', async () => {
    await put([MARK])
    expect((await program('reset')).code).toBe(0)
    expect(there([...OWN, ...OF_IMAGE, ...KEPT, MARK])).toEqual([...OF_IMAGE, ...KEPT])
    expect(await readFile(join(folder, 'etc/hostname'), 'utf8')).toBe('packages\n')
  })
})

const NEEDS = ['openssl', 'qrencode', 'curl', 'systemctl'].filter(name => findProgram(name) === undefined)
describe.skipIf(NEEDS.length > 0)(`the screen (needs openssl, qrencode, curl)`, () => {
  /** A curl that says what the service would: for what no service of a test says on demand. */
  async function serviceSays(body: string): Promise<void> {
    const bin = join(folder, 'bin')
    await mkdir(bin, { recursive: true })
    await writeFile(join(bin, 'curl'), `#!/bin/sh\necho '${body}'\n`)
    await chmod(join(bin, 'curl'), 0o755)
    env.PATH = `${bin}:${process.env.PATH ?? ''}`
  }

  test('shows addresses, the fingerprint of the authority in groups, the token, and how the service is', async () => {
    await program('first-boot')
    await serviceSays('{"needs_setup":true}')
    const { out } = await program('status', 'text')
    const token = /SETUP_TOKEN=(.*)/.exec(await readFile(join(folder, 'etc/secrets'), 'utf8'))?.[1]
    const groups = (await authority()).fingerprint256.replaceAll(':', '').match(/.{4}/g) ?? []
    expect(out).toContain('Gatehouse 1.2.3 on gatehouse-1')
    for (const address of ['https://gatehouse-1.local', 'https://10.20.1.10', 'https://[fd00::10]'])
      expect(out).toContain(address)
    expect(out.replace(/\s+/g, ' ')).toContain(`Fingerprint ${groups.join(' ')}`)
    expect(out).toContain(`Setup token  ${token}`)
    expect(out).toContain('Service      runs')
  })

  test('its QR code is an address that the desktop program takes', async () => {
    await program('first-boot')
    await serviceSays('{"needs_setup":true}')
    const bin = join(folder, 'bin')
    await writeFile(join(bin, 'qrencode'), '#!/bin/sh\nfor last; do :; done\necho "$last"\n')
    await chmod(join(bin, 'qrencode'), 0o755)
    const [text = ''] = /gatehouse:\/\/\S+/.exec((await program('status', 'text')).out) ?? []
    expect(parseAddress(text)).toEqual({
      host: '10.20.1.10',
      port: 443,
      origin: 'https://10.20.1.10',
      fingerprint: (await authority()).fingerprint256.replaceAll(':', ''),
    })
  })

  test.each([
    ['is made', '{"needs_setup":false}'],
    ['is not known of', ''],
  ])('shows no token once the first admin %s', async (_, said) => {
    await program('first-boot')
    await serviceSays(said)
    const { out } = await program('status', 'text')
    expect(out).not.toContain('token')
    expect(out).toContain(said === '' ? 'Service      is starting, or does not run' : 'Service      runs')
  })

  test('follows an address also while lines about addresses never end', async () => {
    await program('first-boot')
    await serviceSays('{"needs_setup":true}')
    delete env.GATEHOUSE_ADDRESSES
    const now = join(folder, 'addresses')
    await writeFile(now, '2: eth0 inet 10.20.1.10/24 scope global eth0\n')
    const ip = join(folder, 'bin/ip')
    await writeFile(
      ip,
      `#!/bin/sh\ncase "$*" in *monitor*) while sleep 0.2; do echo 2; done ;; *) cat ${now} ;; esac\n`,
    )
    await chmod(ip, 0o755)
    const watching = spawn(join(PROGRAMS, 'status'), ['watch'], { env, stdio: 'ignore' })
    try {
      const shown = (): Promise<string> => readFile(join(folder, 'run/screen'), 'utf8').catch(() => '')
      await expect.poll(shown, { timeout: 30_000 }).toContain('https://10.20.1.10\n')
      await writeFile(now, '2: eth0 inet 10.20.1.77/24 scope global eth0\n')
      await expect.poll(shown, { timeout: 30_000 }).toContain('https://10.20.1.77\n')
      expect((await certificate()).subjectAltName).toContain('IP Address:10.20.1.77')
    } finally {
      const ended = once(watching, 'exit')
      watching.kill('SIGKILL')
      await ended
    }
  })

  test('says that there is no address, and what that may be', async () => {
    await program('first-boot')
    env.GATEHOUSE_ADDRESSES = ''
    expect((await program('status', 'text')).out).toContain(
      'no address yet: is the network cable in, and is there DHCP?',
    )
  })

  test.each([
    ['first-boot', []],
    ['status', ['text']],
  ])('%s ends with an error where it cannot write or read what it must', async (name, args) => {
    await rm(join(folder, 'etc'), { recursive: true })
    await writeFile(join(folder, 'etc'), 'a file')
    expect((await program(name, ...args)).code).not.toBe(0)
    expect(existsSync(join(folder, 'repos/settings.json'))).toBe(false)
  })

  test.each([
    ['status', 'status text | watch | screens | has-menu'],
    ['menu', 'menu allowed | watch SCREEN'],
    ['database', 'database create | serve | grant | sweep'],
  ])('%s says how it is called', async (name, usage) => {
    const { code, err } = await program(name, 'nothing')
    expect([code, err]).toEqual([64, `usage: ${usage}\n`])
  })
})
