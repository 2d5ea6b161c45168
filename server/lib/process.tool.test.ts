import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { processFacts } from './process.ts'

// a parent that never waits for its child
const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; exec sleep 600'], { stdio: ['ignore', 'pipe', 'ignore'] })
let child = 0
beforeAll(async () => {
  child = Number(String(((await once(parent.stdout, 'data')) as [Buffer])[0]))
})
afterAll(() => {
  parent.kill('SIGKILL')
})

test('a process is told from a later one of its number by when it began', async () => {
  const mine = await processFacts(process.pid)
  expect(mine).toEqual({ begun: expect.stringMatching(/^\d+$/) as string, defunct: false })
  expect((await processFacts(child))?.begun).not.toBe(mine?.begun)
})

test('one that was killed and that nobody waited for is defunct', async () => {
  expect((await processFacts(child))?.defunct).toBe(false)
  process.kill(child, 'SIGKILL')
  await expect.poll(async () => (await processFacts(child))?.defunct).toBe(true)
})

test('an unused process number is no process', async () => {
  expect(await processFacts(2 ** 22 + 1)).toBeUndefined()
})
