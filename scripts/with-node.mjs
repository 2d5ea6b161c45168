// Runs `node ARGS` under Node 24 where the machine's own is older: the runtime comes as an optional dependency. Plain
// JavaScript that Node 14 understands, with Node's own modules only: it runs before anything is installed.
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const NEEDED = 24
// the default search path, for units and cron lines without PATH
export const USUAL_PATH = '/usr/local/bin:/usr/bin:/bin'
const SIGNAL_NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }

/** The path of a Node that is new enough, or null. */
export function findNode() {
  if (Number(process.versions.node.split('.')[0]) >= NEEDED) return process.execPath
  const platform = process.platform === 'win32' ? 'win' : process.platform
  try {
    const resolve = createRequire(import.meta.url).resolve
    return join(
      dirname(resolve(`node-${platform}-${process.arch}/package.json`)),
      'bin',
      process.platform === 'win32' ? 'node.exe' : 'node',
    )
  } catch {
    return null
  }
}

/** The command, so that on Linux it is asked to end when its parent has ended; elsewhere it stays. */
export function endWithParent(command) {
  if (process.platform !== 'linux' || spawnSync('setpriv', ['--version']).status !== 0) return command
  return ['setpriv', '--pdeathsig', 'TERM', ...command]
}

function parentOf(pid) {
  try {
    return Number(/\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1])
  } catch {
    return undefined
  }
}

function isShell(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0')[1] === '-c'
  } catch {
    return false
  }
}

// now, before anything takes long: npm may end with its first script. Some shells (bash) replace themselves by
// the script; then our parent is npm itself, whose own parent may end well before us.
const STARTED_BY =
  process.platform === 'linux'
    ? { parent: process.ppid, npm: isShell(process.ppid) ? parentOf(process.ppid) : undefined }
    : {}

/**
 * npm puts a shell between itself and a script and passes signals only to that shell, so ending npm would leave the
 * script behind. If npm started us, `lost` is called when npm or the shell has ended.
 * @returns a function that stops the watch
 */
function watchNpm(lost) {
  if (process.env.npm_lifecycle_event === undefined || process.platform !== 'linux') return () => undefined
  const timer = setInterval(() => {
    const { parent, npm } = STARTED_BY
    if (process.ppid === parent && (npm === undefined || parentOf(parent) === npm)) return
    clearInterval(timer)
    lost()
  }, 250)
  return () => clearInterval(timer)
}

/** Runs it with this terminal's input and output, passes signals on, and resolves with the exit code. */
export function runNode(args, env = process.env, stdio = 'inherit') {
  const node = findNode()
  if (node === null) {
    console.error(
      `Node ${NEEDED} or newer is needed. This is ${process.version}, and no runtime for ${process.platform}-${process.arch} is installed: run npm ci, or install Node ${NEEDED}.`,
    )
    return Promise.resolve(1)
  }
  const [command, ...rest] = endWithParent([node, ...args])
  const child = spawn(command, rest, {
    stdio,
    env: { ...env, PATH: dirname(node) + delimiter + (env.PATH ?? USUAL_PATH) },
  })
  const pass = ['SIGINT', 'SIGTERM', 'SIGHUP'].map(signal => [signal, () => child.kill(signal)])
  for (const [signal, listener] of pass) process.on(signal, listener)
  const stopWatching = watchNpm(() => child.kill('SIGTERM'))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      stopWatching()
      for (const [name, listener] of pass) process.off(name, listener)
      resolve(code ?? 128 + (SIGNAL_NUMBERS[signal] ?? 0))
    })
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await runNode(process.argv.slice(2))
