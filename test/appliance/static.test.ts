import { globSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { packagesOf, SUITES } from '../../appliance/debian-root.ts'
import { FORMATS } from '../../server/formats/index.ts'
import { KEEP_ALIVE_MS } from '../../server/http/listener.ts'
import { findProgram, run } from '../support/tools.ts'

const APPLIANCE = join(import.meta.dirname, '../../appliance')
const files = globSync('**/*', { cwd: APPLIANCE, withFileTypes: true })
  .filter(entry => entry.isFile())
  .map(entry => join(entry.parentPath, entry.name))
const read = (path: string): string => readFileSync(path, 'utf8')
const scripts = files.filter(path => /^#!\/bin\/(?:ba)?sh/.test(read(path)))
const units = files.filter(path => /\/systemd\/system\/.*\.(?:service|path|socket|timer|conf)$/.test(path))
/** What enables units: of every appliance, and of an image. */
const enabling = ['provision.sh', 'image.ts'].map(name => read(join(APPLIANCE, name))).join('\n')

describe.skipIf(findProgram('shellcheck') === undefined)('scripts (needs shellcheck)', () => {
  test.each(scripts.map(path => [path.slice(APPLIANCE.length + 1), path]))('%s has no fault', async (_, path) => {
    expect(await run('shellcheck', ['--severity=style', path])).toEqual({ code: 0, out: '', err: '' })
  })
})

test('every script is executable and ends at its first error', () => {
  expect(scripts.length).toBeGreaterThan(4)
  expect(scripts.filter(path => (statSync(path).mode & 0o111) === 0)).toEqual([])
  expect(scripts.filter(path => !read(path).includes('set -euo pipefail'))).toEqual([])
})

test('nginx gives up an idle connection to the daemon before the daemon closes it', () => {
  const [, seconds] =
    /^ +keepalive_timeout (\d+)s;/m.exec(read(join(APPLIANCE, 'root/usr/share/gatehouse/nginx.conf'))) ?? []
  expect(Number(seconds) * 1000).toBeLessThan(KEEP_ALIVE_MS - 20_000)
})

test('nginx logs the requests of every registry, from which downloads are counted', () => {
  const [, pattern = '', , log] =
    /^ +location ~ (\^\S+\/) \{\n( +)access_log (\S+) downloads;/m.exec(
      read(join(APPLIANCE, 'root/usr/share/gatehouse/nginx.conf')),
    ) ?? []
  expect(log).toBe('/var/log/gatehouse-web/access.log')
  const roots = FORMATS.flatMap(({ registryClient }) => registryClient?.root ?? [])
  expect(roots.length).toBeGreaterThan(3)
  expect(roots.filter(root => !new RegExp(pattern).test(`/${root}/ours/x`))).toEqual([])
})

test('every unit that can be enabled is', () => {
  const enabled = units
    .filter(path => /^\[Install\]/m.test(read(path)))
    .map(path => basename(path).replace(/@\.\w+$/, '@'))
  expect(enabled.length).toBeGreaterThan(5)
  expect(enabled.filter(unit => !enabling.includes(unit))).toEqual([])
})

test('every service restarts for ever, and has a limit of memory', () => {
  const lasting = units.filter(path => /^Exec(Start|Reload)=/m.test(read(path)) && !/^Type=oneshot/m.test(read(path)))
  expect(lasting.length).toBeGreaterThan(5)
  for (const line of ['Restart=always', 'StartLimitIntervalSec=0', 'MemoryMax='])
    expect(lasting.filter(path => !read(path).includes(line))).toEqual([])
})

test('a unit whose steps look at a disk from outside of its walls may read that disk', () => {
  // seen on a machine with a USB controller alone: containers have no such guard
  const unit = read(units.find(path => path.endsWith('/gatehouse-medium@.service')) ?? '')
  expect(unit).toMatch(/^PrivateDevices=yes\n(?:#.*\n)?DeviceAllow=\/dev\/%I r$/m)
})

test('every program that a unit starts is brought by us or by a package that is installed', () => {
  const ours = (program: string): boolean =>
    program.startsWith('/opt/gatehouse/current/') ||
    ['root', 'disk/root'].some(from => files.includes(join(APPLIANCE, from, program)))
  const started = units.flatMap(path =>
    [...read(path).matchAll(/^Exec\w+=[+-]*(\/\S+)/gm)].map(([, program = '']) => program),
  )
  const debian = [
    '/usr/sbin/nginx',
    '/usr/sbin/nft',
    '/usr/sbin/clamd',
    '/usr/bin/freshclam',
    '/usr/bin/hostname',
    '/usr/bin/nsenter',
    '/usr/bin/systemctl',
    '/usr/sbin/chronyd',
    '/usr/sbin/avahi-daemon',
    '/usr/sbin/rsyslogd',
  ]
  expect(started.filter(program => !ours(program) && !debian.includes(program))).toEqual([])
})

test('AppArmor profiles are enforced, and each is named by a unit', () => {
  const text = read(join(APPLIANCE, 'root/etc/apparmor.d/gatehouse'))
  const profiles = [...text.matchAll(/^profile (\S+)/gm)].map(([, name]) => name)
  const named = units.flatMap(path => [...read(path).matchAll(/^AppArmorProfile=-(\S+)/gm)].map(([, name]) => name))
  expect(profiles).toEqual(['gatehouse', 'gatehouse-clamd', 'gatehouse-freshclam', 'gatehouse-log'])
  expect(named.sort()).toEqual(profiles)
  expect(text).not.toMatch(/complain|flags=\([^)]*unconfined/)
})

describe.skipIf(findProgram('apparmor_parser') === undefined)('AppArmor (needs apparmor)', () => {
  const dump = (...words: string[]): ReturnType<typeof run> =>
    run('apparmor_parser', ['--skip-kernel-load', '--skip-cache', '--quiet', ...words])
  test('compiles the profiles without a kernel', async () => {
    const compiled = await dump('--names', join(APPLIANCE, 'root/etc/apparmor.d/gatehouse'))
    expect([compiled.code, compiled.out.trim().split('\n')]).toEqual([
      0,
      ['gatehouse', 'gatehouse-clamd', 'gatehouse-freshclam', 'gatehouse-log'],
    ])
  })
})

test('clamd looks at whole packages, and says when it did not', () => {
  const lines = read(join(APPLIANCE, 'root/usr/share/gatehouse/clamd.conf')).split('\n')
  for (const line of ['StreamMaxLength 2000M', 'MaxFileSize 2000M', 'MaxScanSize 0', 'AlertExceedsMax yes'])
    expect(lines).toContain(line)
})

test('package lists are sorted, and name each package once', () => {
  for (const list of ['service', 'system', 'boot'] as const) {
    const names = read(join(APPLIANCE, 'packages', list))
      .split('\n')
      .filter(line => line !== '' && !line.startsWith('#'))
    expect(names).toEqual(packagesOf([list]))
  }
  expect(SUITES).toEqual(['bookworm', 'trixie'])
})

test('no address of an archive but the public ones stands in the repository', () => {
  const named = files.flatMap(path => read(path).match(/https?:\/\/[\w.-]+\/debian(?:-security)?\b/g) ?? [])
  expect([...new Set(named)].sort()).toEqual([
    'http://ftp.debian.org/debian',
    'http://security.debian.org/debian-security',
  ])
})
