import { mkdir, writeFile } from 'node:fs/promises'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { run, type Ran } from '../support/tools.ts'
import { createImageRoot, createRoot, type Provisioned, type Root } from './support/root.ts'

const { lacking, debian, bundle, image, suite } = inject('appliance')

/** Where a mirror would leave its name. */
const PLACES = ['etc', 'opt', 'root', 'usr/lib/gatehouse', 'usr/share/gatehouse', 'var']
// Debian's own examples and databases name its hosts
const KNOWN = /\/var\/lib\/dpkg\/|\/usr\/share\/doc\//

const OURS = [
  'gatehouse.service',
  'gatehouse-web.service',
  'gatehouse-postgres.service',
  'gatehouse-first-boot.service',
  'gatehouse-status.service',
  'gatehouse-firewall.service',
  'gatehouse-medium@sda1.service',
  'gatehouse-seed.service',
  'clamav-daemon.service',
  'clamav-freshclam.service',
  'avahi-daemon.service',
  'chrony.service',
]
// it changes the machine, as root: what it may not do is less than for those
const OF_ROOT = ['gatehouse-machine.service']

describe.skipIf(lacking !== undefined)(`a root of Debian that becomes an appliance (${lacking ?? suite})`, () => {
  let root: Provisioned
  let first: Ran
  beforeAll(async () => {
    root = await createRoot(debian, bundle)
    first = await root.provision('--image')
  })
  afterAll(() => root.close())

  test('is one after the first run', () => {
    expect(first.code, first.err).toBe(0)
    expect(first.out).toMatch(/This machine is an appliance: Gatehouse \d+\.\d+\.\d+\.\n$/)
  })

  test('is the same after the second', async () => {
    const before = await root.list()
    expect(before.length).toBeGreaterThan(10_000)
    const { code, err } = await root.provision('--image')
    expect([code, err]).toEqual([0, ''])
    const after = new Set(await root.list())
    const was = new Set(before)
    expect({
      gone: before.filter(line => !after.has(line)),
      new: [...after].filter(line => !was.has(line)),
    }).toEqual({ gone: [], new: [] })
  })

  test('every unit that is held to it is at most at 2.0 of systemd-analyze security', async () => {
    const rated = await Promise.all(
      OURS.map(async unit => {
        const args = ['security', '--offline=true', `--root=${root.folder}`, '--threshold=20', unit]
        const { code, out } = await run('systemd-analyze', args)
        return { unit, code, exposure: Number(/exposure level for \S+: ([\d.]+)/.exec(out)?.[1] ?? NaN) }
      }),
    )
    expect(rated.filter(({ code, exposure }) => code !== 0 || !(exposure <= 2))).toEqual([])
  })

  test('systemd knows every word in them', async () => {
    const { out, err } = await root.inside('systemd-analyze', 'verify', '--man=no', ...OURS, ...OF_ROOT)
    expect(`${out}${err}`.split('\n').filter(line => /gatehouse|clamav/.test(line))).toEqual([])
  })

  // Debian 12 cannot check one
  test.skipIf(suite === 'bookworm')('udev takes the rule about sticks', async () => {
    const { code, out, err } = await root.inside('udevadm', 'verify', '/usr/lib/udev/rules.d/90-gatehouse-media.rules')
    expect(code, `${out}${err}`).toBe(0)
  })

  test('nginx, nftables, sshd, chrony, logrotate and PostgreSQL take their configuration', async () => {
    expect((await root.inside('/usr/lib/gatehouse/first-boot')).code).toBe(0)
    const checks = [
      'mkdir -p /run/gatehouse-web /run/sshd /var/cache/gatehouse-web && /usr/lib/gatehouse/web-listen && nginx -q -t -c /usr/share/gatehouse/nginx.conf 2>&1 | { ! grep .; }',
      'nft -c -f /usr/share/gatehouse/firewall.nft',
      'sshd -t',
      'sshd -T | grep -qx "passwordauthentication no"',
      'chronyd -p >/dev/null',
      'logrotate -d /etc/logrotate.d/gatehouse-web',
      'apt-config dump | grep -q Debian-Security',
      'clamconf --config-dir=/nowhere >/dev/null 2>&1; clamd --config-file=/usr/share/gatehouse/clamd.conf --version',
      'freshclam --config-file=/usr/share/gatehouse/freshclam.conf --version',
      'runuser -u postgres -- /usr/lib/gatehouse/database create',
      'runuser -u postgres -- sh -c \'"$(ls -d /usr/lib/postgresql/*/bin)"/postgres -D "$(ls -d /var/lib/gatehouse-postgres/*)" -C jit -c config_file=/usr/share/gatehouse/postgresql.conf\' | grep -qx off',
    ]
    for (const check of checks) {
      const { code, out, err } = await root.inside('sh', '-c', check)
      expect({ check, code, said: code === 0 ? '' : out + err }).toEqual({ check, code: 0, said: '' })
    }
  })
})

describe.skipIf(lacking !== undefined)(`the root of an image (${lacking ?? suite})`, () => {
  let root: Root
  beforeAll(async () => {
    root = await createImageRoot(image)
  })
  afterAll(() => root.close())

  test('holds no secret and no id that two machines would share', async () => {
    const { out } = await root.inside(
      'sh',
      '-c',
      'ls /etc/ssh/ssh_host_* /etc/ssl/private/* /etc/gatehouse/secrets /etc/gatehouse/*/*.key /var/lib/dbus/machine-id /var/lib/systemd/random-seed /var/lib/postgresql/*/main /var/lib/gatehouse-postgres/* /repos/* 2>/dev/null; cat /etc/machine-id; grep -l "BEGIN.*PRIVATE KEY" -r /etc /opt/gatehouse/current/release /var/lib 2>/dev/null; true',
    )
    expect(out).toBe('')
  })

  test('no clock begins before the release was made', async () => {
    const { out } = await root.inside(
      'stat',
      '-L',
      '-c',
      '%Y',
      '/usr/lib/clock-epoch',
      '/opt/gatehouse/current/release',
    )
    const [epoch, release] = out.trim().split('\n')
    expect(epoch).toBe(release)
    expect(Number(epoch)).toBeGreaterThan(Date.UTC(2026, 0) / 1000)
  })

  test('nobody signs in with a password', async () => {
    const { out } = await root.inside('sh', '-c', "awk -F: '$2 !~ /^[!*]/ { print $1 }' /etc/shadow")
    expect(out).toBe('')
  })

  test('names no archive but the public ones', async () => {
    const { out } = await root.inside('sh', '-c', 'cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null')
    expect([...new Set(out.match(/https?:\S+/g))]).toEqual([
      'http://ftp.debian.org/debian',
      'http://security.debian.org/debian-security',
    ])
    const asked = await run('apt-get', ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages'])
    const hosts = [...new Set(asked.out.split('\n').flatMap(uri => (URL.canParse(uri) ? new URL(uri).host : [])))]
    const built = hosts.filter(host => host !== '' && !/^(?:ftp|security)\.debian\.org$/.test(host))
    for (const host of built) {
      const found = await run('grep', [
        '-rIl',
        '--exclude-dir=proc',
        '-F',
        `//${host}/`,
        ...PLACES.map(at => join(root.folder, at)),
      ])
      expect(found.out.split('\n').filter(path => path !== '' && !KNOWN.test(path))).toEqual([])
    }
  })

  test('listens to nobody by a service that is not needed', async () => {
    const { out } = await root.inside('systemctl', 'list-unit-files', '--state=enabled', '--plain', '--no-legend')
    const enabled = out.split('\n').map(line => line.split(' ')[0] ?? '')
    for (const unit of ['ssh.service', 'ssh.socket', 'nginx.service', 'postgresql.service', 'getty@tty1.service'])
      expect(enabled).not.toContain(unit)
    // udev starts the one of a stick, and that the one of its seed; a socket starts the one that changes the machine
    const others = OURS.filter(unit => !/@|-seed/.test(unit))
    for (const unit of [...others, 'gatehouse-machine.socket']) expect(enabled).toContain(unit)
  })
})
describe.skipIf(lacking !== undefined)(`provision.sh (${lacking ?? suite})`, () => {
  let root: Provisioned
  beforeAll(async () => {
    root = await createRoot(debian, bundle)
  })
  afterAll(() => root.close())

  test.each([
    ['no bundle', [], /Name the bundle/],
    ['a bundle that is not there', ['/nowhere/gatehouse-1-linux-x64.tar.zst'], /There is no bundle \/nowhere/],
    ['an option nobody knows', ['--all', 'x'], /Unknown option --all\. Usage:/],
    ['a bundle for another processor', ['/provision/other-arm64.tar.zst'], /for another processor than this amd64/],
  ])('stops before anything is changed with %s', async (_, args, why) => {
    await writeFile(join(root.folder, 'provision/other-arm64.tar.zst'), 'x')
    const before = await root.list()
    const { code, err } = await root.inside('/provision/provision.sh', ...args)
    expect(code).not.toBe(0)
    expect(err).toMatch(why)
    expect(await root.list()).toEqual(before)
  })

  test('stops on a system that is no Debian 12 or 13', async () => {
    const before = await root.read('usr/lib/os-release')
    await writeFile(join(root.folder, 'usr/lib/os-release'), before.replace(/VERSION_ID=.*/, 'VERSION_ID="11"'))
    expect((await root.provision()).err).toMatch(/an appliance is Debian 12 or 13/)
    await writeFile(join(root.folder, 'usr/lib/os-release'), before)
  })

  test('refuses a file that is no bundle, and leaves no half of it', async () => {
    const { code, err } = await root.inside(
      'sh',
      '-c',
      'cd /tmp && echo hi >hello && tar --zstd -cf /provision/gatehouse-9-linux-x64.tar.zst hello && exec /provision/provision.sh /provision/gatehouse-9-linux-x64.tar.zst',
    )
    expect([code, err.split('\n').at(-2)]).toEqual([1, expect.stringMatching(/is no bundle of this product\.$/)])
    expect(readdirSync(join(root.folder, 'opt/gatehouse/releases')).filter(name => !name.endsWith('.part'))).toEqual([])
  })

  test('keeps the name, the network and SSH of a machine that is no image', async () => {
    await writeFile(join(root.folder, 'etc/hostname'), 'db-7\n')
    await mkdir(join(root.folder, 'etc/systemd/system/multi-user.target.wants'), { recursive: true })
    expect((await root.provision()).code).toBe(0)
    expect(await root.read('etc/hostname')).toBe('db-7\n')
    const { out } = await root.inside('systemctl', 'is-enabled', 'ssh.service', 'gatehouse.service', 'nginx.service')
    expect(out.split('\n').slice(0, 3)).toEqual(['enabled', 'enabled', 'disabled'])
  })

  test('removes a file of an earlier version that this one does not bring', async () => {
    const list = await root.read('usr/lib/gatehouse/files')
    await writeFile(join(root.folder, 'usr/lib/gatehouse/files'), `${list}/usr/lib/gatehouse/old\n`)
    await writeFile(join(root.folder, 'usr/lib/gatehouse/old'), 'of before')
    expect((await root.provision()).code).toBe(0)
    expect((await root.inside('ls', '/usr/lib/gatehouse/old')).code).not.toBe(0)
    expect(await root.read('usr/lib/gatehouse/files')).toBe(list)
  })
})
