import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { joinRoot } from './joined-root.ts'
import { lockRoot } from './root-lock.ts'

let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-lock-'))
})
afterAll(() => rm(root, { recursive: true, force: true }))
beforeEach(() => rm(join(root, '.running'), { force: true }))
const leave = (text: unknown): Promise<void> =>
  writeFile(join(root, '.running'), typeof text === 'string' ? text : JSON.stringify(text))
const holder = async (): Promise<unknown> => JSON.parse(await readFile(join(root, '.running'), 'utf8'))

test('a root that another process runs on is refused by the number of that process, and given back by it', async () => {
  const module = JSON.stringify(join(import.meta.dirname, 'root-lock.ts'))
  const script = `const { lockRoot } = await import(${module}); const free = await lockRoot(${JSON.stringify(root)}); process.stdout.write('has it'); process.stdin.once('data', async () => { await free(); process.exit() })`
  const other = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(other.stdout, 'data')
  await expect(lockRoot(root)).rejects.toThrow(
    `REPOS_ROOT=${root} is in use by pid ${other.pid}. Stop the other Gatehouse`,
  )
  other.stdin.write('go')
  await once(other, 'exit')
  expect(await readdir(root)).toEqual([])
  await (
    await lockRoot(root)
  )()
})

test.each([
  ['a process that is gone', { pid: 2 ** 22 + 5, host: hostname(), begun: '1' }],
  ['a process whose number is somebody else now', { pid: process.ppid, host: hostname(), begun: '1' }],
  ['a container of before, with the number this one has', { pid: process.pid, host: hostname(), begun: '1' }],
  ['another machine', { pid: process.ppid, host: 'elsewhere', begun: '1' }],
  ['a process that was killed while it wrote', '{"pid":'],
  ['nobody', ''],
])('a lock that %s left is taken over', async (_who, text) => {
  await leave(text)
  const free = await lockRoot(root, undefined, 50)
  expect(await holder()).toMatchObject({ pid: process.pid, host: hostname() })
  await free()
  expect(await readdir(root)).toEqual([])
})

test('a lock of a process killed while taking over is taken over, too, and its remains are removed', async () => {
  const gone = JSON.stringify({ pid: 2 ** 22 + 5, host: hostname(), begun: '1' })
  const after = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)
  await leave(gone)
  for (const name of [after(gone), `${after(gone)}.${after('half')}`, after('older')])
    await writeFile(join(root, `.running.${name}`), gone)
  const free = await lockRoot(root)
  expect(await holder()).toMatchObject({ pid: process.pid })
  expect(await readdir(root)).toEqual(['.running'])
  await free()
})

test('of several that start at once after a killed one, one gets the lock and the others are told which', async () => {
  const module = JSON.stringify(join(import.meta.dirname, 'root-lock.ts'))
  const script = `const { lockRoot } = await import(${module}); console.log('ready'); let free
    process.stdin.on('data', async () => {
      if (free !== undefined) { await free(); free = undefined; return console.log('freed') }
      free = await lockRoot(${JSON.stringify(root)}).catch(error => { console.log(error.message) })
      if (free !== undefined) console.log('has it')
    })`
  const others = Array.from({ length: 5 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] }),
  )
  const said = (all: typeof others): Promise<string[]> =>
    Promise.all(all.map(async other => String((await once(other.stdout, 'data'))[0])))
  try {
    await said(others)
    for (let round = 0; round < 20; round++) {
      await leave({ pid: 2 ** 22 + 5, host: hostname(), begun: String(round) })
      const answers = said(others)
      for (const other of others) other.stdin.write('go')
      const all = await answers
      const holders = others.filter((_, n) => all[n] === 'has it\n')
      expect(holders, all.join('')).toHaveLength(1)
      expect(
        all.filter(one => one.includes(`is in use by pid ${holders[0]?.pid}.`)),
        all.join(''),
      ).toHaveLength(4)
      const freed = said(holders)
      holders[0]?.stdin.write('go')
      await freed
    }
  } finally {
    for (const other of others) other.kill('SIGKILL')
  }
})

test('a lock that another machine goes on touching is refused, whatever the clock there says', async () => {
  await leave({ pid: 1, host: 'elsewhere', begun: '1' })
  let hour = 0
  const touching = setInterval(() => void utimes(join(root, '.running'), 0, (hour += 3600)), 20)
  try {
    await expect(lockRoot(root, undefined, 10_000)).rejects.toThrow('is in use by pid 1.')
  } finally {
    clearInterval(touching)
  }
})

describe('processes of one database', () => {
  const join_ = (instance: string, installation = 'ours') => joinRoot(root, { instance, installation, watchMs: 50 })

  test('run on one root together, and nobody else runs on it meanwhile', async () => {
    const [first, second] = [await join_('a'), await join_('b')]
    const others = await readdir(join(root, '.replicas'))
    expect(others.sort()).toEqual(['a', 'b'])
    // as if they were other processes: one's own number counts as that of a container of before
    for (const name of others)
      await writeFile(
        join(root, '.replicas', name),
        JSON.stringify({ pid: process.ppid, host: hostname(), begun: '', installation: 'ours' }),
      )
    const wrong = `REPOS_ROOT=${root} is in use by pid ${process.ppid} on ${hostname()}, with another database.`
    await expect(join_('c', 'theirs')).rejects.toThrow(wrong)
    await expect(lockRoot(root, undefined, 50)).rejects.toThrow(wrong)
    await second()
    await first()
    expect(await readdir(join(root, '.replicas'))).toEqual([])
    await rm(join(root, '.replicas'), { recursive: true })
  })

  test('are refused by one with a database of its own, and take over what dead ones of others left', async () => {
    await leave({ pid: process.ppid, host: hostname(), begun: '' })
    await expect(join_('a')).rejects.toThrow('with a database of its own')
    await rm(join(root, '.running'))
    await mkdir(join(root, '.replicas'), { recursive: true })
    await writeFile(
      join(root, '.replicas', 'dead'),
      JSON.stringify({ pid: 1, host: 'elsewhere', begun: '1', installation: 'theirs' }),
    )
    const leaveIt = await join_('a')
    expect(await readdir(join(root, '.replicas'))).toEqual(['a'])
    await leaveIt()
    await rm(join(root, '.replicas'), { recursive: true })
  })
})
