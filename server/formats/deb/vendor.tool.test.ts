import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { chmod, link, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { oddDebs, uninstallableDebs } from '../../../test/support/odd-deb.ts'
import { buildDeb, debParts, spoolBytes, spoolPath } from '../../../test/support/packages.ts'
import { ADMIN_PATH } from '../../../test/support/tools.ts'
import { inner } from './inner.ts'
import { inspect } from './inspect.ts'

const hasDpkgDeb = spawnSync('dpkg-deb', ['--version']).status === 0
const signal = new AbortController().signal
const isRoot = process.getuid?.() === 0
const run = (...args: string[]): Buffer =>
  execFileSync('dpkg-deb', args, {
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
  })

/** The paths that `dpkg-deb -c` lists, without directories. */
function listed(path: string): string[] {
  return run('-c', path)
    .toString()
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('d'))
    .map(line =>
      line
        .replace(/^(\S+\s+){5}/, '')
        .replace(/ (->|link to) .*$/, '')
        .replace(/^\.\//, ''),
    )
}

const CONTROL = `Package: vendor
Version: 2:1.0~rc1-1
Section: misc
Priority: optional
Architecture: amd64
Maintainer: Test <test@example.test>
Installed-Size: 20
Depends: libc6 (>= 2.36), a | b
Homepage: https://example.test/
Description: built by dpkg-deb
 With a long description.
 .
   * and a list
`

describe.skipIf(!hasDpkgDeb)('dpkg-deb and we read the same', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'deb-vendor-'))
    const root = join(folder, 'root')
    for (const path of ['DEBIAN', 'usr/bin', 'usr/share/vendor/äöü', `usr/share/${'deep/'.repeat(30)}`])
      mkdirSync(join(root, path), { recursive: true })
    writeFileSync(join(root, 'DEBIAN/control'), CONTROL)
    writeFileSync(join(root, 'DEBIAN/postinst'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
    writeFileSync(join(root, 'usr/bin/vendor'), Buffer.alloc(300_000, 'program '))
    writeFileSync(join(root, 'usr/share/vendor/äöü/file'), 'x')
    writeFileSync(join(root, `usr/share/${'deep/'.repeat(30)}file`), 'x')
    await symlink('vendor', join(root, 'usr/bin/alias'))
    await symlink(`/usr/share/${'deep/'.repeat(30)}file`, join(root, 'usr/bin/long-target'))
    await link(join(root, 'usr/bin/vendor'), join(root, 'usr/bin/hard'))
    await chmod(folder, 0o755)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test.each(['gzip', 'xz', 'zstd', 'none'])('a package that dpkg-deb built with %s', async kind => {
    const path = join(folder, `${kind}.deb`)
    run('--root-owner-group', `-Z${kind}`, '-b', join(folder, 'root'), path)
    const found = await inspect(await spoolPath(path), signal)
    expect(found.identity).toEqual({ format: 'deb', name: 'vendor', version: '2:1.0~rc1-1', arch: 'amd64' })
    expect(`${found.facts.control}\n`).toBe(CONTROL)
    expect(found.paths.length).toBe(6)
    expect(found.paths).toEqual(listed(path))
    const streams: Record<string, Buffer> = {}
    for await (const { name, open } of inner(await spoolPath(path))) {
      const chunks: Buffer[] = []
      for await (const chunk of open()) chunks.push(chunk)
      streams[name] = Buffer.concat(chunks)
    }
    expect(streams['data.tar']?.equals(run('--fsys-tarfile', path))).toBe(true)
    expect(streams['control.tar']?.equals(run('--ctrl-tarfile', path))).toBe(true)
  })

  test.each(['gz', 'xz', 'zst', 'none'] as const)('a package that we built with %s', async compression => {
    const spec = {
      name: 'ours',
      version: '1:2-3',
      compression,
      files: {
        'usr/bin/ours': 'x',
        [`usr/${'n'.repeat(150)}`]: { symlink: 'bin/ours' },
        'usr/hard': { hardlink: 'usr/bin/ours' },
      },
    } as const
    const file = await spoolBytes(folder, 'ours.deb', await buildDeb(spec))
    const found = await inspect(file, signal)
    expect(`${found.facts.control}\n`).toBe(run('-f', file.path).toString())
    expect(found.paths).toEqual(listed(file.path))
    expect(run('--fsys-tarfile', file.path).equals(debParts(spec).data)).toBe(true)
  })

  test('every unusual package that we take, dpkg-deb takes with the same fields', async () => {
    for (const { name, bytes } of await oddDebs()) {
      const file = await spoolBytes(folder, 'odd.deb', bytes)
      const found = await inspect(file, signal)
      expect(run('-f', file.path, 'Package', 'Version', 'Architecture').toString().replaceAll('\r', ''), name).toBe(
        'Package: odd\nVersion: 1.0-1\nArchitecture: amd64\n',
      )
      expect([...new Set(listed(file.path))], name).toEqual(found.paths)
    }
  })

  test.skipIf(!isRoot)(
    'dpkg itself unpacks every unusual package that we take, and none of those that we refuse because it does not',
    async () => {
      const odd = await oddDebs()
      for (const { name, bytes } of [...odd, ...(await uninstallableDebs())]) {
        const file = await spoolBytes(folder, 'unpacked.deb', bytes)
        const root = await mkdtemp(join(folder, 'system-'))
        for (const path of ['info', 'updates']) mkdirSync(join(root, 'var/lib/dpkg', path), { recursive: true })
        writeFileSync(join(root, 'var/lib/dpkg/status'), '')
        const { status, stderr } = spawnSync(
          'dpkg',
          [`--root=${root}`, '--force-architecture', '--force-depends', '--unpack', file.path],
          { encoding: 'utf8', env: { ...process.env, PATH: ADMIN_PATH, LC_ALL: 'C.UTF-8' } },
        )
        const isOdd = odd.some(one => one.name === name)
        expect(`${name}: ${status === 0 ? 'unpacked' : 'refused'}`, stderr).toBe(
          `${name}: ${isOdd ? 'unpacked' : 'refused'}`,
        )
      }
    },
  )
})
