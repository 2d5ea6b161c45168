import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runTool, ToolFailed, type RunOptions } from './exec.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-exec-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

let n = 0
async function script(body: string): Promise<string> {
  const path = join(folder, `tool-${n++}`)
  await writeFile(path, `#!/bin/sh\n${body}\n`)
  await chmod(path, 0o755)
  return path
}
const OPTIONS: RunOptions = { env: { PATH: '/usr/bin:/bin' }, deadlineMs: 60_000, maxOutputBytes: 1_000_000 }
const cutOf = (run: Promise<unknown>): Promise<unknown> =>
  run.then(
    () => 'ended',
    (error: unknown) => (error instanceof ToolFailed ? error.cut : error),
  )

/** Waits until nobody has this process id; a process that is being reaped counts as there. */
async function isGone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 500; tries++) {
    const state = await readFile(`/proc/${pid}/stat`, 'utf8').then(
      text => text.slice(text.lastIndexOf(')') + 2, text.lastIndexOf(')') + 3),
      () => 'gone',
    )
    if (state === 'gone' || state === 'Z') return true
    await new Promise(resolve => setImmediate(resolve))
  }
  return false
}

describe('a tool', () => {
  test('its exit code, what it printed, and the end of what it complained of', async () => {
    const tool = await script('printf out; i=0; while [ $i -lt 2000 ]; do echo noise-$i >&2; i=$((i+1)); done; exit 3')
    const { code, out, err } = await runTool(tool, [], OPTIONS)
    expect([code, out.toString(), err.endsWith('noise-1999'), err.length <= 4000]).toEqual([3, 'out', true, true])
  })
  test('gets its arguments as they are, no shell reads them, and no variable but those given', async () => {
    const tool = await script('printf "%s\\n" "$@"; env')
    const { out } = await runTool(tool, ['a b', '$(id)', '; rm -rf /'], {
      ...OPTIONS,
      env: { PATH: '/usr/bin:/bin', ONLY: 'this' },
    })
    expect(out.toString().split('\n').slice(0, 3)).toEqual(['a b', '$(id)', '; rm -rf /'])
    expect(out.toString()).toContain('ONLY=this')
    expect(out.toString()).not.toMatch(/^(HOME|USER|VITEST)=/m)
  })
  test('a hanging tool is killed at its deadline, with everything it started', async () => {
    const pids = join(folder, 'pids')
    const tool = await script(`sleep 1000 & echo $! > ${pids}; sleep 1000`)
    expect(await cutOf(runTool(tool, [], { ...OPTIONS, deadlineMs: 2000 }))).toBe('deadline')
    expect(await isGone(Number(await readFile(pids, 'utf8')))).toBe(true)
  })
  test('one that computes is ended by the processor time it used, not by the clock', async () => {
    // a tenth of a processor, as on a busy machine: it computes for 0.2 s within more than 2 s
    const tool = await script(
      'i=0; while [ $i -lt 20 ]; do n=0; while [ $n -lt 4000 ]; do n=$((n+1)); done; sleep 0.1; i=$((i+1)); done; echo done',
    )
    expect((await runTool(tool, [], { ...OPTIONS, deadlineMs: 1000 })).out.toString()).toBe('done\n')
    const endless = await script('while :; do :; done')
    expect(await runTool(endless, [], { ...OPTIONS, deadlineMs: 1000 }).catch((error: Error) => error.message)).toBe(
      'it computed for more than 1 s',
    )
  })
  test('a child that outlives it does not keep us waiting, and does not stay', async () => {
    const pids = join(folder, 'left')
    const tool = await script(`sleep 1000 & echo $! > ${pids}; echo done`)
    expect((await runTool(tool, [], OPTIONS)).out.toString()).toBe('done\n')
    expect(await isGone(Number(await readFile(pids, 'utf8')))).toBe(true)
  })
  test('one that prints without end is ended at the limit', async () => {
    expect(await cutOf(runTool(await script('yes'), [], OPTIONS))).toBe('too_much_output')
  })
  test('the caller may leave, before and after the start', async () => {
    const gone = new AbortController()
    const run = runTool(await script('sleep 1000'), [], { ...OPTIONS, signal: gone.signal })
    gone.abort()
    expect(await cutOf(run)).toBe('aborted')
    expect(await cutOf(runTool(await script('true'), [], { ...OPTIONS, signal: gone.signal }))).toBe('aborted')
  })
  test('one that is not there, may not be run, or is killed, has not answered', async () => {
    expect(await cutOf(runTool(join(folder, 'nothing'), [], OPTIONS))).toBe('not_started')
    expect(await cutOf(runTool(folder, [], OPTIONS))).toBe('not_started')
    expect(await cutOf(runTool(await script('kill -9 $$'), [], OPTIONS))).toBe('killed')
  })
})
