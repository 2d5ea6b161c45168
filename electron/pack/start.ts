import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundleDesktop } from './bundle.ts'
import { orRefused, readReleaseKey } from './sign.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const ELECTRON = join(ROOT, 'node_modules', 'electron')

/** Electron's program, from a folder that is named or from its package; undefined where it is in neither. */
export function findElectron(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const usual =
    { darwin: 'Electron.app/Contents/MacOS/Electron', win32: 'electron.exe' }[process.platform as string] ?? 'electron'
  const named = join(ELECTRON, 'path.txt')
  const name = existsSync(named) ? readFileSync(named, 'utf8').trim() : usual
  const folder = env.ELECTRON_OVERRIDE_DIST_PATH ?? join(ELECTRON, 'dist')
  const path = join(folder, name)
  return existsSync(path) ? path : undefined
}

const MISSING = `Electron's program is not on this machine, and it could not be fetched: it comes from a release host and not from
the package registry. Unpack the archive of the version in package.json somewhere, and name the folder in
ELECTRON_OVERRIDE_DIST_PATH; or name a mirror of the release host in ELECTRON_MIRROR.`

/** `npm run desktop`: builds the program and starts it. Only here, and never at npm ci, Electron is fetched. */
async function run(): Promise<number> {
  if (findElectron() === undefined) {
    console.log('Fetching Electron, once ...')
    spawnSync(process.execPath, [join(ELECTRON, 'install.js')], { stdio: ['ignore', 'ignore', 'ignore'] })
  }
  const electron = findElectron()
  if (electron === undefined) {
    console.error(MISSING)
    return 1
  }
  const out = join(ROOT, 'dist', 'desktop', 'app')
  await bundleDesktop(out, { releaseKey: readReleaseKey(process.env.GATEHOUSE_RELEASE_KEY) })
  const child = spawn(electron, [out, ...process.argv.slice(2)], { stdio: 'inherit' })
  return new Promise(resolve => child.once('exit', code => resolve(code ?? 1)))
}

if (import.meta.main) process.exitCode = await orRefused(run())
