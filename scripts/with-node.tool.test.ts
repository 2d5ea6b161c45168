import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, test } from 'vitest'

const LAUNCHER = join(import.meta.dirname, 'with-node.mjs')
// says who it is, ticks while it lives, and ends politely
const PROGRAM = `
process.on('SIGTERM', () => { console.log('term'); process.exit(0) })
console.log('up ' + process.pid)
setInterval(() => console.log('tick'), 100)
`

/** `npm start &` in a script that ends at `ended()`; lines are what the program says, one after the other. */
async function startBehindNpm(shell: string) {
  const folder = await mkdtemp(join(tmpdir(), 'gh-npm-'))
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'x', private: true, scripts: { start: `node "${LAUNCHER}" program.mjs` } }),
  )
  await writeFile(join(folder, 'program.mjs'), PROGRAM)
  const script = spawn('sh', ['-c', `npm start --silent --script-shell=${shell} & echo npm $!; read -r line`], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const lines = createInterface({ input: script.stdout })[Symbol.asyncIterator]()
  const next = async (wanted: RegExp): Promise<string> => {
    for (;;) {
      const { value, done } = await lines.next()
      if (done === true) throw new Error(`It ended before it said ${wanted}.`)
      if (wanted.test(value)) return value
    }
  }
  const npm = Number((await next(/^npm/)).slice(4))
  const pid = Number((await next(/^up/)).slice(3))
  return {
    npm,
    pid,
    next,
    /** Lets the script end that started npm. */
    async ended() {
      script.stdin.end('\n')
      await once(script, 'exit')
    },
    async close() {
      for (const id of [npm, pid])
        try {
          process.kill(id, 'SIGKILL')
        } catch {
          /* it has ended */
        }
      await rm(folder, { recursive: true, force: true })
    },
  }
}

// npm leaves its script behind on a signal where the shell stays in between (dash); where the shell gives way (bash) it
// does not
describe.skipIf(process.platform !== 'linux').for(['dash', 'bash'])('a program that npm runs through %s', shell => {
  test.for(['SIGTERM', 'SIGKILL'] as const)('is asked to end when npm gets %s', async signal => {
    const started = await startBehindNpm(shell)
    try {
      process.kill(started.npm, signal)
      expect(await started.next(/^term/)).toBe('term')
    } finally {
      await started.close()
    }
  })

  test('goes on when the script ends that started npm', async () => {
    const started = await startBehindNpm(shell)
    try {
      await started.ended()
      // longer than four looks at who the parent is
      for (let ticks = 0; ticks < 12; ticks++) expect(await started.next(/^tick|^term/)).toBe('tick')
    } finally {
      await started.close()
    }
  })
})

test('it runs where no PATH is set', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [LAUNCHER, '-e', 'console.log(process.env.PATH)'], {
    encoding: 'utf8',
    env: {},
  })
  expect([status, stdout, stderr]).toEqual([
    0,
    expect.stringMatching(/^\/.+:\/usr\/local\/bin:\/usr\/bin:\/bin\n$/),
    '',
  ])
})
