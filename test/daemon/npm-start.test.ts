import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')

let root: string
let npm: ChildProcess
let daemon: number
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-npm-start-'))
  npm = spawn('npm', ['start', '--silent'], {
    cwd: ROOT,
    env: { ...process.env, REPOS_ROOT: root, PORT: '0', HOST: '127.0.0.1', DATABASE_URL: '', MALLOC_ARENA_MAX: '3' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (npm.stdout === null) throw new Error('its output is a pipe')
  for await (const line of createInterface({ input: npm.stdout })) if (line.startsWith('Gatehouse is ready at')) break
  const [only, ...others] = await childrenOf(npm.pid ?? 0)
  expect(others).toEqual([])
  daemon = only ?? 0
})
afterEach(async () => {
  for (const pid of [npm.pid ?? 0, daemon])
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // it has ended
    }
  await rm(root, { recursive: true, force: true })
})

async function childrenOf(pid: number): Promise<number[]> {
  const all = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  const parents = await Promise.all(
    all.map(async one => {
      const stat = await readFile(`/proc/${one}/stat`, 'utf8').catch(() => '')
      return Number(stat.replace(/^.*\) /, '').split(' ')[1])
    }),
  )
  return all.filter((_, n) => parents[n] === pid).map(Number)
}

/** The command line or the environment of a process. */
const wordsOf = async (pid: number, of: 'cmdline' | 'environ'): Promise<string[]> =>
  (await readFile(`/proc/${pid}/${of}`, 'utf8')).split('\0')

const hasEnded = (pid: number): boolean => !existsSync(`/proc/${pid}`)

test('npm has one child, the daemon itself, with its settings; what the caller set stays', async () => {
  expect(await wordsOf(daemon, 'cmdline')).toEqual([
    expect.stringMatching(/\/node$/),
    '--max-semi-space-size=8',
    '--heap-growing-percent=50',
    join(ROOT, 'server', 'main.ts'),
    '',
  ])
  expect(await wordsOf(daemon, 'environ')).toEqual(
    expect.arrayContaining(['MALLOC_ARENA_MAX=3', 'MALLOC_TRIM_THRESHOLD_=65536', `REPOS_ROOT=${root}`]),
  )
})

test.for(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)('the daemon ends in order when npm gets %s', async signal => {
  const note = join(root, '.running')
  expect(existsSync(note)).toBe(true)
  const gone = once(npm, 'exit')
  npm.kill(signal)
  await gone
  await expect.poll(() => hasEnded(daemon), { timeout: 30_000 }).toBe(true)
  // who is killed leaves its note
  expect(existsSync(note)).toBe(false)
})
