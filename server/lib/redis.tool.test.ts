import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createRateLimits, type RateLimits } from '../http/rate-limit.ts'
import { createEvents } from '../record/events.ts'
import { createShared, type Shared } from './redis.ts'

const isHere = spawnSync('sh', ['-c', 'command -v redis-server']).status === 0
const PASSWORD = 'Zq7secret'

let folder: string
let port: number
let server: ChildProcess
const opened: Shared[] = []

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>(resolve => probe.listen(0, '127.0.0.1', resolve))
  const address = probe.address()
  await new Promise(resolve => probe.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

function startRedis(): void {
  server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder, '--requirepass', PASSWORD], { stdio: 'ignore' })
}
async function stopRedis(): Promise<void> {
  const ended = new Promise(resolve => server.once('exit', resolve))
  server.kill('SIGKILL')
  await ended
}
function open(onTrouble: (trouble: string | undefined) => void = () => undefined): Shared {
  const shared = createShared({ url: `redis://:${PASSWORD}@127.0.0.1:${port}`, onTrouble })
  opened.push(shared)
  return shared
}
const until = (is: () => boolean): Promise<void> => vi.waitFor(() => { if (!is()) throw new Error('not yet') }, { timeout: 15_000, interval: 20 })
const isUp = (shared: Shared): Promise<void> => until(() => shared.client() !== undefined)
const passes = (limits: RateLimits, address: string): Promise<boolean> => {
  const ctx = { state: { clientIp: address }, set: () => undefined, response: { get: () => '' } }
  return limits.middleware({ bucket: 'b', perMinute: 3 })(ctx as never, async () => undefined).then(() => true, () => false)
}
const count = async (limits: readonly RateLimits[], times: number, address: string): Promise<number> => {
  let passed = 0
  for (let n = 0; n < times; n++) if (await passes(limits[n % limits.length] as RateLimits, address)) passed++
  return passed
}

describe.skipIf(!isHere)('with redis-server', () => {
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-redis-'))
    port = await freePort()
    startRedis()
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(shared => shared.close()))
    if (server.exitCode === null && server.signalCode === null) await stopRedis()
    await rm(folder, { recursive: true, force: true })
  })

  test('replicas count a client together; alone each counts for itself', async () => {
    const shared = [open(), open()]
    await Promise.all(shared.map(isUp))
    expect(await count(shared.map(one => createRateLimits(Date.now, one)), 8, '192.0.2.1')).toBe(3)
    expect(await count([createRateLimits(Date.now), createRateLimits(Date.now)], 8, '192.0.2.1')).toBe(6)
  })

  test('a limit holds while Redis goes away, and what happens is told without the password', async () => {
    const said: (string | undefined)[] = []
    const shared = open(trouble => { said.push(trouble) })
    await isUp(shared)
    const limits = createRateLimits(Date.now, shared)
    expect(await count([limits], 2, '192.0.2.2')).toBe(2)
    await stopRedis()
    await until(() => shared.trouble() !== undefined)
    expect(await count([limits], 8, '192.0.2.2')).toBe(1)
    startRedis()
    await isUp(shared)
    // this Redis knows of nothing that was before
    expect(await count([limits], 8, '192.0.2.2')).toBe(0)
    expect(await count([limits], 8, '192.0.2.9')).toBe(3)
    expect(said[0]).toBeUndefined()
    expect(said[1]).toMatch(/^Redis does not answer: /)
    expect(said.at(-1)).toBeUndefined()
    expect(JSON.stringify(said)).not.toContain(PASSWORD)
  })

  test('of requests in one moment as many pass as the limit says', async () => {
    const shared = open()
    await isUp(shared)
    const limits = createRateLimits(Date.now, shared)
    const burst = (times: number, address: string): Promise<boolean[]> => Promise.all(Array.from({ length: times }, () => passes(limits, address)))
    expect((await burst(3, '192.0.2.3')).filter(Boolean)).toHaveLength(3)
    expect((await burst(30, '192.0.2.4')).filter(Boolean)).toHaveLength(3)
  })

  test('what somebody else says on a channel of ours, or a listener that fails, ends nothing', async () => {
    const shared = [open(), open()] as const
    await Promise.all(shared.map(isUp))
    const heard: unknown[] = []
    shared[1].hear('x', () => { throw new Error('this one cannot take it') })
    shared[1].hear('x', message => { heard.push(message) })
    const said = async (): Promise<void> => {
      for (const text of ['', 'no JSON', 'null', '[]', '{"from":1}']) await shared[0].client()?.publish('gatehouse:x', text)
      shared[0].tell('x', 'the last')
    }
    // a subscription stands a moment after the connection does
    await vi.waitFor(async () => { await said(); expect(heard).toContain('the last') }, { timeout: 15_000, interval: 20 })
    expect(new Set(heard)).toEqual(new Set([undefined, 'the last']))
  })

  test('an event of one replica reaches the listeners of the others, once', async () => {
    const shared = [open(), open()] as const
    await Promise.all(shared.map(isUp))
    const clock = { now: () => new Date() }
    const [one, other] = [createEvents({ clock, shared: shared[0] }), createEvents({ clock, shared: shared[1] })]
    const heard: string[] = []
    const gone = new AbortController()
    const following = [one, other].map(async (events, n) => { for await (const { event } of events.follow(undefined, gone.signal)) heard.push(`${n} ${String(event.data['n'])}`) })
    // a subscription stands a moment after the connection does
    await until(() => { one.emit({ type: 'upload', at: '', data: { n: 0 } }); return heard.includes('1 0') })
    heard.length = 0
    one.emit({ type: 'upload', at: '', data: { n: 1 } })
    await until(() => heard.filter(text => text.endsWith(' 1')).length === 2)
    expect(heard.filter(text => text.endsWith(' 1')).sort()).toEqual(['0 1', '1 1'])
    gone.abort()
    await Promise.all(following)
  })
})
