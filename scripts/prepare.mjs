// Prepares a fresh clone: packages and the console's build. Plain JavaScript for Node 20, without dependencies.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findNode, runNode } from './with-node.mjs'

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

function readLock(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages ?? {}
  } catch {
    return undefined
  }
}

/**
 * True when node_modules matches package-lock.json, by npm's own record of what it installed. Packages for other
 * platforms may be missing.
 */
export function isInstalled(root = ROOT) {
  const wanted = readLock(join(root, 'package-lock.json'))
  const got = readLock(join(root, 'node_modules', '.package-lock.json'))
  if (wanted === undefined || got === undefined) return false
  return Object.entries(wanted).every(([path, { version, optional, extraneous }]) => {
    if (path === '' || extraneous === true) return true
    const installed = got[path]
    return installed === undefined ? optional === true : installed.version === version && existsSync(join(root, path))
  })
}

// set-up writes to standard error: the first line on standard output is the daemon's
const toStderr = ['ignore', 2, 2]

/** npm's own script, so that another Node can run it. */
function npmScript() {
  const known = [
    process.env.npm_execpath,
    join(dirname(process.execPath), '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js'),
    join(dirname(process.execPath), 'node_modules', 'npm', 'bin', 'npm-cli.js'),
  ]
  return known.find(path => path !== undefined && /\.[cm]?js$/.test(path) && existsSync(path))
}

function npm(node, what, cwd = ROOT) {
  const script = npmScript()
  const [command, args] = script === undefined ? ['npm', []] : [node, [script]]
  return (
    spawnSync(
      command,
      [...args, ...what, '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'],
      {
        cwd,
        stdio: toStderr,
        shell: process.platform === 'win32' && command === 'npm',
        env: { ...process.env, PATH: dirname(node) + delimiter + (process.env.PATH ?? '') },
      },
    ).status === 0
  )
}

/**
 * True when the runtime is there and loads the native parts. npm under an older Node leaves out packages that ask for a
 * newer one, although the newer one will run them.
 */
function nativesLoad() {
  const node = findNode()
  return (
    node !== null &&
    spawnSync(node, ['-e', `require('@napi-rs/lzma'); require('bcrypt')`], { cwd: ROOT, stdio: 'ignore' }).status === 0
  )
}

/**
 * Gets the runtime alone, as package-lock.json has it: npm under an older Node would leave packages out, and all would
 * be installed twice.
 * @returns its path, or undefined where there is none for this platform
 */
function fetchRuntime(folder) {
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const path = `node_modules/${name}`
  const entry = readLock(join(ROOT, 'package-lock.json'))?.[path]
  if (entry === undefined) return undefined
  const root = { name: 'runtime', version: '0.0.0', dependencies: { [name]: entry.version } }
  const lock = { ...root, lockfileVersion: 3, packages: { '': root, [path]: { ...entry, optional: undefined } } }
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify(root))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
  if (!npm(process.execPath, ['install', '--ignore-scripts'], folder)) return undefined
  return join(folder, path, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
}

/** Runs `npm ci` under a Node that is new enough, or under this one where there is none. */
function installAll() {
  const known = findNode()
  if (known !== null) return npm(known, ['ci'])
  const folder = join(ROOT, '.cache', 'runtime')
  try {
    return npm(fetchRuntime(folder) ?? process.execPath, ['ci'])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Runs `npm ci` where node_modules is missing or differs from the lock; otherwise touches no network. @returns whether
 * it is good now
 */
export function installIfNeeded() {
  if (isInstalled() && nativesLoad()) return true
  console.error('Installing packages (npm ci) ...')
  if (installAll() && nativesLoad()) return true
  console.error(
    'npm ci failed, so nothing can run. It needs a package registry: check the network and the registry in ~/.npmrc, then try again.',
  )
  return false
}

function newest(folder) {
  return Math.max(
    0,
    ...readdirSync(folder, { withFileTypes: true }).map(entry => {
      if (entry.name === 'dist' || entry.name === 'node_modules') return 0
      const path = join(folder, entry.name)
      return entry.isDirectory() ? newest(path) : statSync(path).mtimeMs
    }),
  )
}

/** True when the console's build is there and no source of it is newer. */
export function isUiBuilt(root = ROOT) {
  const built = statSync(join(root, 'ui', 'dist', 'index.html'), { throwIfNoEntry: false })
  return (
    built !== undefined &&
    built.mtimeMs >= Math.max(newest(join(root, 'ui')), statSync(join(root, 'package-lock.json')).mtimeMs)
  )
}

/** Builds the console where that is missing or old. @returns whether it is good now */
export async function buildUiIfNeeded() {
  if (isUiBuilt()) return true
  console.error('Building the console ...')
  const code = await runNode(
    [join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js'), 'build', join(ROOT, 'ui'), '--logLevel', 'warn'],
    process.env,
    toStderr,
  )
  if (code !== 0) console.error('The console did not build; what went wrong stands above.')
  return code === 0
}
