import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { giveBackMemoryWhenIdle } from './idle-memory.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const MB = 1024 * 1024

test('garbage is collected when nothing is to be done and there is some', () => {
  let [cpu, used, collected] = [0, 60 * MB, 0]
  giveBackMemoryWhenIdle({
    cpu: () => cpu,
    used: () => used,
    collect: () => {
      collected++
      cpu += 400_000
      used = 40 * MB
    },
  })
  const later = (spent: number, garbage: number): number => {
    cpu += spent
    used += garbage
    vi.advanceTimersByTime(15_000)
    return collected
  }
  expect(later(9_000_000, 20 * MB)).toBe(0) // busy
  expect(later(100_000, 0)).toBe(1)
  expect(later(100_000, 2 * MB)).toBe(1) // not worth it
  expect(later(2_000_000, 20 * MB)).toBe(1) // busy
  expect(later(100_000, 0)).toBe(2)
})

test('the process really gets smaller', () => {
  let garbage: object[] | undefined = Array.from({ length: 300_000 }, (_, n) => ({ n, text: `text ${n}` }))
  const before = process.memoryUsage().heapUsed
  expect(garbage.length).toBe(300_000)
  garbage = undefined
  let now = 0
  vi.spyOn(process, 'cpuUsage').mockImplementation(() => ({ user: now, system: 0 }))
  giveBackMemoryWhenIdle()
  now += 1
  vi.advanceTimersByTime(15_000)
  vi.restoreAllMocks()
  expect(process.memoryUsage().heapUsed).toBeLessThan(before - 10 * MB)
})
