import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { extractFile, getRawHeader, listPackage } from '@electron/asar'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleDesktop } from '../../electron/pack/bundle.ts'
import { packDesktopDeb } from '../../electron/pack/deb.ts'
import { builderConfig, packageDir, whyNot } from '../../electron/pack/package.ts'

/** What stands in for Electron: a program of the right name, and the resources that electron-builder takes along. */
async function standIn(folder: string): Promise<string> {
  const dist = join(folder, 'electron')
  await mkdir(join(dist, 'resources'), { recursive: true })
  await mkdir(join(dist, 'locales'))
  await writeFile(join(dist, 'electron'), '#!/bin/sh\nexit 0\n')
  await chmod(join(dist, 'electron'), 0o755)
  await writeFile(join(dist, 'version'), '45.5.0')
  await writeFile(join(dist, 'locales', 'en-US.pak'), '')
  return dist
}

describe('the packaged program', () => {
  let folder: string
  let app: string
  let unpacked: string
  let files: string[]
  const asar = (): string => join(unpacked, 'resources', 'app.asar')

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-package-'))
    app = join(folder, 'app')
    await bundleDesktop(app, { releaseKey: 'the key' })
    unpacked = await packageDir({ app, out: join(folder, 'out'), electronDist: await standIn(folder), hasFuses: false })
    files = listPackage(asar(), { isPack: false })
  }, 300_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('holds two scripts, the console, icons and the part for the keychain, and nothing else', () => {
    const tops = new Set(files.map(path => path.split('/')[1]))
    expect([...tops].sort()).toEqual(['icons', 'keytar', 'main.mjs', 'package.json', 'preload.cjs', 'ui'])
    expect(files.filter(path => /\.map$|\.ts$|node_modules|\.env|\.test\./.test(path))).toEqual([])
    expect(files).toContain('/ui/index.html')
  })

  test('carries no secret, no path of the machine it was made on, and no switch of TLS', () => {
    const main = extractFile(asar(), 'main.mjs').toString()
    const preload = extractFile(asar(), 'preload.cjs').toString()
    for (const text of [main, preload]) {
      expect(text).not.toContain(folder)
      expect(text).not.toContain(join(import.meta.dirname, '..', '..'))
      expect(text).not.toMatch(/NODE_TLS_REJECT_UNAUTHORIZED|BEGIN (EC |RSA )?PRIVATE KEY/)
    }
    // once, where a chain is read before anybody trusts it
    expect(main.match(/rejectUnauthorized:\s*(?:false|!1)/g)).toHaveLength(1)
    // what the environment says at run time is not asked
    expect(main).toContain('releaseKey: "the key"')
    expect(main).not.toContain('GATEHOUSE_RELEASE_KEY')
  })

  test('has a preload script that asks for Electron alone', () => {
    const preload = extractFile(asar(), 'preload.cjs').toString()
    expect([...preload.matchAll(/require\(["'`]([^"'`]+)/g)].map(([, name]) => name)).toEqual(['electron'])
  })

  test('has the native part outside of its archive, and integrity of what is inside', async () => {
    expect(existsSync(join(`${asar()}.unpacked`, 'keytar', 'prebuilds', `linux-${process.arch}`, 'keytar.node'))).toBe(
      true,
    )
    expect(await readdir(join(`${asar()}.unpacked`, 'keytar', 'prebuilds'))).toEqual([`linux-${process.arch}`])
    expect(JSON.stringify(getRawHeader(asar()).header)).toContain('"integrity"')
  })

  test('is told the fuses of a release; the inspector is for tests alone', () => {
    const fuses = (isInspected: boolean): unknown => builderConfig({ app, out: folder, isInspected }).electronFuses
    expect(fuses(false)).toEqual({
      runAsNode: false,
      enableNodeOptionsEnvironmentVariable: false,
      enableNodeCliInspectArguments: false,
      onlyLoadAppFromAsar: true,
      enableEmbeddedAsarIntegrityValidation: true,
      enableCookieEncryption: true,
      grantFileProtocolExtraPrivileges: false,
    })
    expect(fuses(true)).toMatchObject({ enableNodeCliInspectArguments: true, runAsNode: false })
  })

  test('says of a target why it cannot be made here', () => {
    expect([whyNot('dir'), whyNot('nsis'), whyNot('dmg')]).toEqual([
      undefined,
      'it is made on win32',
      'it is made on darwin',
    ])
  })

  test.skipIf(whyNot('deb') !== undefined)('is a .deb with a desktop entry that takes gatehouse:// links', async () => {
    const deb = await packDesktopDeb(unpacked, app, join(folder, 'out'))
    const list = spawnSync('dpkg-deb', ['-c', deb], { encoding: 'utf8' }).stdout
    for (const path of [
      './opt/Gatehouse/gatehouse',
      './usr/share/applications/gatehouse.desktop',
      './usr/bin/gatehouse -> /opt/Gatehouse/gatehouse',
      'hicolor/512x512/apps/gatehouse.png',
    ])
      expect(list).toContain(path)
    expect(list).not.toMatch(/^\S+ (?!root\/root)/m)
    const control = spawnSync('dpkg-deb', ['-f', deb], { encoding: 'utf8' }).stdout
    expect(control).toMatch(/^Package: gatehouse-desktop$/m)
    const out = join(folder, 'deb-files')
    spawnSync('dpkg-deb', ['-x', deb, out])
    const entry = await readFile(join(out, 'usr', 'share', 'applications', 'gatehouse.desktop'), 'utf8')
    expect(entry).toMatch(/^Exec=\/opt\/Gatehouse\/gatehouse %U$/m)
    expect(entry).toMatch(/^MimeType=x-scheme-handler\/gatehouse;$/m)
  })
})
