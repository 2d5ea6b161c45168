import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSupervisor, systemdNotify, watchdogMs } from './supervisor.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function supervised(answers: () => Promise<unknown>, watchdog: number | undefined = 30_000) {
  const said: string[] = []
  const warned: string[] = []
  const supervisor = createSupervisor({
    say: async message => said.push(message),
    watchdogMs: watchdog,
    ask: answers,
    warn: text => warned.push(text),
  })
  return { said, warned, supervisor }
}

test('the watchdog is fed three times within its time while the service answers', async () => {
  const { said, supervisor } = supervised(async () => undefined)
  await supervisor.ready()
  await vi.advanceTimersByTimeAsync(30_000)
  expect(said).toEqual(['READY=1', 'WATCHDOG=1', 'WATCHDOG=1', 'WATCHDOG=1'])
  await supervisor.stopping()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(said.slice(4)).toEqual(['STOPPING=1'])
})

test('a service that answers nobody does not feed it', async () => {
  const { said, warned, supervisor } = supervised(() => Promise.reject(new Error('refused')))
  await supervisor.ready()
  await vi.advanceTimersByTimeAsync(30_000)
  expect(said).toEqual(['READY=1'])
  expect(warned).toHaveLength(3)
})

test('a question without an answer is not asked a second time beside it', async () => {
  const ask = vi.fn(() => new Promise(() => undefined))
  const { said, supervisor } = supervised(ask)
  await supervisor.ready()
  await vi.advanceTimersByTimeAsync(300_000)
  expect(ask).toHaveBeenCalledTimes(1)
  expect(said).toEqual(['READY=1'])
})

test('a systemd that cannot be told is a warning and no failure', async () => {
  const warned: string[] = []
  const supervisor = createSupervisor({
    say: () => Promise.reject(new Error('no such program')),
    watchdogMs: undefined,
    ask: async () => undefined,
    warn: text => warned.push(text),
  })
  await supervisor.ready()
  expect(warned).toEqual(['systemd could not be told READY=1: Error: no such program'])
})

test('without systemd nothing is said', () => {
  expect(systemdNotify(undefined, '/bin')).toBe(undefined)
  expect([watchdogMs(undefined), watchdogMs('0'), watchdogMs('120000000')]).toEqual([undefined, undefined, 120_000])
})
