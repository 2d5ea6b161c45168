import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { readHost, type Sensors } from './host.ts'

const clock = { now: () => new Date('2026-03-01T10:00:00Z') }
const here = { packages: tmpdir(), database: tmpdir(), logs: tmpdir() }
const memory = { total: 8 * 1024 ** 3, available: 2 * 1024 ** 3, swaptotal: 1024 ** 3, swapused: 512 * 1024 ** 2 }
const machine =
  (sensors: Partial<Sensors>): (() => Promise<Sensors>) =>
  async () => ({ mem: async () => memory, cpuTemperature: async () => ({ main: null }), ...sensors })

test('memory is what programs can still have; a disk that holds everything is named once', async () => {
  expect(await readHost({ clock, places: here }, machine({ cpuTemperature: async () => ({ main: 48.26 }) }))).toEqual({
    ok: true,
    collected_at: '2026-03-01T10:00:00.000Z',
    uptime_seconds: expect.any(Number),
    cores: expect.any(Number),
    load: expect.objectContaining({ per_core: expect.any(Number) }),
    memory: { total_mb: 8192, available_mb: 2048, used_pct: 75, limit_mb: expect.toSatisfy(isLimit) },
    swap: { total_mb: 1024, used_mb: 512 },
    disks: [expect.objectContaining({ holds: ['packages', 'database', 'logs'], free_gb: expect.any(Number) })],
    temperature_c: 48.3,
    unknown: {},
  })
})
const isLimit = (value: unknown): boolean => value === null || typeof value === 'number'

test('no sensor, or one that reads 0, and no swap are null and nothing unknown', async () => {
  for (const main of [null, 0]) {
    const sensors = machine({
      mem: async () => ({ ...memory, swaptotal: 0, swapused: 0 }),
      cpuTemperature: async () => ({ main }),
    })
    expect(await readHost({ clock, places: here }, sensors)).toMatchObject({
      ok: true,
      swap: null,
      temperature_c: null,
      unknown: {},
    })
  }
})

test('what cannot be read is unknown with its reason, never 0, and the rest is told', async () => {
  const broken = machine({
    mem: () => Promise.reject(Object.assign(new Error('no /proc'), { code: 'EACCES' })),
    cpuTemperature: () => Promise.reject(new Error('secret address')),
  })
  const facts = await readHost({ clock, places: { ...here, logs: '/nowhere/logs', database: undefined } }, broken)
  expect(facts).toMatchObject({
    ok: false,
    memory: null,
    swap: null,
    temperature_c: null,
    unknown: { memory: 'this service has no right to it', temperature: 'it failed' },
    disks: [
      { holds: ['packages'], free_gb: expect.any(Number) },
      { holds: ['database'], free_gb: null, why: expect.stringContaining('DATABASE_URL') },
      { holds: ['logs'], used_pct: null, why: 'It could not be looked at: it does not exist.' },
    ],
  })
})
