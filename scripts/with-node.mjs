// Runs `node ARGS` under Node 24 where the machine's own is older: the runtime comes as an optional dependency.
// Plain JavaScript that any Node from 14 on understands.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const NEEDED = 24

/** The path of a Node that is new enough, or null. */
export function findNode() {
  if (Number(process.versions.node.split('.')[0]) >= NEEDED) return process.execPath
  const platform = process.platform === 'win32' ? 'win' : process.platform
  try {
    const resolve = createRequire(import.meta.url).resolve
    return join(dirname(resolve(`node-${platform}-${process.arch}/package.json`)), 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  } catch {
    return null
  }
}

/** Runs it with this terminal's input and output; passes signals on; resolves with the exit code. */
export function runNode(args, env = process.env) {
  const node = findNode()
  if (node === null) {
    console.error(`Node ${NEEDED} or newer is needed. This is ${process.version}, and no runtime for ${process.platform}-${process.arch} is installed: run npm ci, or install Node ${NEEDED}.`)
    return Promise.resolve(1)
  }
  const child = spawn(node, args, { stdio: 'inherit', env: { ...env, PATH: dirname(node) + delimiter + (env.PATH ?? '') } })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  return new Promise(done => child.on('exit', (code, signal) => done(code ?? 128 + ({ SIGINT: 2, SIGTERM: 15, SIGKILL: 9 }[signal] ?? 0))))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await runNode(process.argv.slice(2))
