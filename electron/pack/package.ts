import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, Platform, type Configuration } from 'electron-builder'
import { bundleDesktop } from './bundle.ts'
import { packDesktopDeb } from './deb.ts'
import { orRefused, readReleaseKey } from './sign.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** What can be made, and on which system its tools are. */
export const TARGETS = {
  dir: { on: 'linux', says: 'the program in a folder' },
  deb: { on: 'linux', says: 'a package for Debian and Ubuntu, made with dpkg-deb' },
  AppImage: { on: 'linux', says: 'one file for every Linux' },
  nsis: { on: 'win32', says: 'an installer for Windows' },
  dmg: { on: 'darwin', says: 'a disk image for macOS' },
} as const
export type Target = keyof typeof TARGETS

interface PackageOptions {
  readonly app: string
  readonly out: string
  /** A folder with Electron's program; without it electron-builder fetches the program from its release host. */
  readonly electronDist?: string | undefined
  /** Whether Electron's fuses are set; a stand-in for Electron has none. */
  readonly hasFuses?: boolean
  /** For tests that drive the real program: they need the inspector that a release has not. */
  readonly isInspected?: boolean
}

/** What electron-builder is told. Nothing is published, and no native part is built: none needs to be. */
export function builderConfig({
  app,
  out,
  electronDist,
  hasFuses = true,
  isInspected = false,
}: PackageOptions): Configuration {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'node_modules', 'electron', 'package.json'), 'utf8')) as {
    version: string
  }
  return {
    appId: 'io.gatehouse.desktop',
    productName: 'Gatehouse',
    copyright: 'Gatehouse',
    electronVersion: version,
    ...(electronDist === undefined ? {} : { electronDist }),
    directories: { output: out, buildResources: join(ROOT, 'electron', 'icons') },
    // there is no package to collect: the bundles hold what they need
    files: ['**/*', '!**/*.map', '!**/node_modules/**'],
    asar: true,
    asarUnpack: ['keytar/**'],
    npmRebuild: false,
    nodeGypRebuild: false,
    publish: null,
    protocols: [{ name: 'Gatehouse', schemes: ['gatehouse'] }],
    linux: {
      executableName: 'gatehouse',
      category: 'System',
      icon: join(app, 'icons', 'icon.png'),
      mimeTypes: ['x-scheme-handler/gatehouse'],
      synopsis: 'Console of Gatehouse',
    },
    win: { icon: join(app, 'icons', 'icon.png') },
    nsis: { oneClick: false, perMachine: false, allowToChangeInstallationDirectory: true },
    mac: { icon: join(app, 'icons', 'icon.png'), category: 'public.app-category.utilities' },
    ...(hasFuses
      ? {
          electronFuses: {
            runAsNode: false,
            enableNodeOptionsEnvironmentVariable: false,
            enableNodeCliInspectArguments: isInspected,
            onlyLoadAppFromAsar: true,
            enableEmbeddedAsarIntegrityValidation: true,
            enableCookieEncryption: true,
            grantFileProtocolExtraPrivileges: false,
          },
        }
      : {}),
  }
}

/** Puts the program, Electron and the icons together, unpacked. @returns its folder */
export async function packageDir(options: PackageOptions): Promise<string> {
  await build({
    targets: Platform.LINUX.createTarget('dir'),
    config: builderConfig(options),
    projectDir: options.app,
    publish: 'never',
  })
  return join(options.out, process.arch === 'arm64' ? 'linux-arm64-unpacked' : 'linux-unpacked')
}

async function make(target: Target, options: PackageOptions): Promise<void> {
  if (target === 'dir') await packageDir(options)
  // electron-builder fetches a tool of its own for a .deb; Debian has one
  else if (target === 'deb') await packDesktopDeb(await packageDir(options), options.app, options.out)
  else {
    const platform = { AppImage: Platform.LINUX, nsis: Platform.WINDOWS, dmg: Platform.MAC }[target]
    await build({
      targets: platform.createTarget(target),
      config: builderConfig(options),
      projectDir: options.app,
      publish: 'never',
    })
  }
}

/** Why a target cannot be made on this machine; undefined where it can be tried. */
export function whyNot(target: Target): string | undefined {
  if (TARGETS[target].on !== process.platform) return `it is made on ${TARGETS[target].on}`
  if (target === 'deb' && spawnSync('dpkg-deb', ['--version']).status !== 0) return 'dpkg-deb is not installed'
  return undefined
}

/** `npm run desktop:build [TARGET...]`: all that this system can make, or those that are named. */
async function run(names: readonly string[]): Promise<number> {
  const known = Object.keys(TARGETS) as Target[]
  const unknown = names.filter(name => !known.some(one => one === name))
  if (unknown.length > 0) {
    console.error(`There is no target ${unknown.join(', ')}. There are:`)
    for (const [name, { on, says }] of Object.entries(TARGETS)) console.error(`  ${name.padEnd(9)} ${says} (on ${on})`)
    return 2
  }
  const options: PackageOptions = {
    app: join(ROOT, 'dist', 'desktop', 'app'),
    out: join(ROOT, 'dist', 'desktop', 'packages'),
    electronDist: process.env.ELECTRON_OVERRIDE_DIST_PATH,
    isInspected: process.env.GATEHOUSE_DESKTOP_INSPECT === '1',
  }
  await bundleDesktop(options.app, { releaseKey: readReleaseKey(process.env.GATEHOUSE_RELEASE_KEY) })
  let failed = 0
  for (const target of names.length > 0 ? (names as Target[]) : known) {
    const reason = whyNot(target)
    if (reason !== undefined) {
      console.log(`${target}: not made, ${reason}`)
      if (names.length > 0) failed++
      continue
    }
    try {
      await make(target, options)
      console.log(`${target}: made in ${options.out}`)
    } catch (error) {
      failed++
      console.error(`${target}: not made. ${(error as Error).message.split('\n')[0]}`)
      if (!existsSync(options.electronDist ?? ''))
        console.error(
          'It needs Electron itself and tools from a release host. Name a folder with Electron in ELECTRON_OVERRIDE_DIST_PATH.',
        )
    }
  }
  return failed === 0 ? 0 : 1
}

if (import.meta.main) process.exitCode = await orRefused(run(process.argv.slice(2)))
