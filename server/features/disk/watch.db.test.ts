import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import type { Space } from '../../lib/disk-space.ts'
import type { Notice } from '../../outbound/notice.ts'
import { createReserve } from './reserve.ts'
import { addSample, listDays, noteGivenBack } from './store.ts'
import { createDiskWatch, nextLevel, type DiskWatch } from './watch.ts'

const GB = 1024 ** 3
const HOUR_MS = 3_600_000
let stock: Stock
let told: Notice[]
let here: Space
let disk: { warn_used_pct: number; min_free_disk_gb: number; reserve_mb: number }
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())
beforeEach(async () => {
  told = []
  disk = { warn_used_pct: 80, min_free_disk_gb: 1, reserve_mb: 0 }
  await stock.db.query('truncate disk_sample')
  await stock.db.query(`update disk_state set level = 'fine', given_back_at = null, given_back_by = null`)
  await rm(stock.layout.reserve, { force: true })
  stock.clock.set('2026-03-01T10:00:00Z')
  full(50)
})

/** A disk of 100 GB that is this full, in percent. */
function full(used_pct: number): void {
  const free = 100 - used_pct
  const bytes = { freeBytes: Math.round(free * GB), usedBytes: Math.round(used_pct * GB), freeFiles: undefined }
  here = { ...bytes, free_gb: free, total_gb: 100, used_pct }
}
/** Another process of the installation. */
const watch = (): DiskWatch =>
  createDiskWatch({
    ...stock,
    settings: { now: () => ({ disk }) as never },
    notices: {
      owe: async (_tx, notice) => {
        told.push(notice)
      },
    },
    reserve: createReserve(stock.layout),
    look: async () => here,
  })
const events = (): string[] => told.splice(0).map(({ event }) => event)
const { signal } = new AbortController()

describe('samples', () => {
  test('one an hour is kept, for ninety days, and each day has its last', async () => {
    const one = watch()
    await addSample(stock.db, { at: new Date('2025-11-30T09:00:00Z'), usedBytes: 1, freeBytes: 1 })
    for (const time of ['10:00', '10:20', '11:05']) {
      stock.clock.set(`2026-03-01T${time}:00Z`)
      full(Number(time.slice(3)) + 10)
      await Promise.all([one.sample(), watch().sample()])
    }
    expect(await stock.db.query('select at from disk_sample order by at')).toEqual([
      { at: new Date('2026-03-01T10:00:00Z') },
      { at: new Date('2026-03-01T11:00:00Z') },
    ])
    expect(await listDays(stock.db)).toEqual([
      { at: new Date('2026-03-01T11:00:00Z'), usedBytes: 15 * GB, freeBytes: 85 * GB },
    ])
  })

  test('the forecast reads those of the last fourteen days', async () => {
    const start = stock.clock.now().getTime()
    for (let hour = 0; hour <= 14 * 24; hour++)
      await addSample(stock.db, {
        at: new Date(start - (14 * 24 - hour) * HOUR_MS),
        usedBytes: Math.round((30 + hour / 24) * GB),
        freeBytes: Math.round((70 - hour / 24) * GB),
      })
    expect((await watch().facts()).forecast).toEqual({
      days_until_full: 56,
      days_until_uploads_stop: 55,
      bytes_per_day: GB,
      samples: 337,
      since: '2026-02-15T10:00:00.000Z',
      why: null,
    })
  })
})

describe('a disk that crosses a limit', () => {
  test('is told once, whichever process looks, and again only after it was well below', async () => {
    const [one, other] = [watch(), watch()]
    const look = async (used: number): Promise<string[]> => {
      full(used)
      await Promise.all([one.sample(), other.sample()])
      await other.sample()
      return events()
    }
    expect(await look(79.9)).toEqual([])
    expect(await look(80)).toEqual(['disk.filling'])
    expect(await look(90)).toEqual([])
    expect(await look(79)).toEqual([])
    expect(await look(81)).toEqual([])
    expect(await look(99.5)).toEqual(['disk.uploads_stopped'])
    expect(await look(98.95)).toEqual([])
    expect(await look(99.5)).toEqual([])
    expect(await look(98)).toEqual([])
    expect(await look(99.5)).toEqual(['disk.uploads_stopped'])
    expect(await look(50)).toEqual([])
    expect(await look(85)).toEqual(['disk.filling'])
  })

  test('what is told has the numbers and the way out', async () => {
    full(85)
    await watch().sample()
    expect(told).toEqual([
      {
        event: 'disk.filling',
        disk: {
          used_pct: 85,
          free_gb: 15,
          total_gb: 100,
          days_until_full: null,
          remedy: expect.stringContaining('Delete packages') as string,
        },
      },
    ])
  })

  test('limits that are switched off end what they told', () => {
    const off = { warn_used_pct: 0, min_free_disk_gb: 0 }
    expect(nextLevel('stopped', { freeBytes: 0, used_pct: 100 }, off)).toBe('fine')
    expect(nextLevel('filling', { freeBytes: 0, used_pct: 100 }, off)).toBe('fine')
  })
})

describe('the reserve', () => {
  test('is made where there is room, and says who gave it back until it is there again', async () => {
    const one = watch()
    expect(await one.reserve()).toEqual({
      state: 'none',
      wanted_mb: 0,
      kept_mb: 0,
      given_back_at: null,
      given_back_by: null,
      why: null,
    })
    disk = { ...disk, reserve_mb: 3, min_free_disk_gb: 1e6 }
    await one.keepReserve(signal)
    expect(await one.reserve()).toMatchObject({
      state: 'missing',
      kept_mb: 0,
      why: 'It is made within the hour once 1100000.1 GB are free.',
    })
    disk.min_free_disk_gb = 0
    await one.keepReserve(signal)
    expect(await one.reserve()).toMatchObject({ state: 'kept', wanted_mb: 3, kept_mb: 3, why: null })
    await createReserve(stock.layout).giveBack()
    await noteGivenBack(stock.db, { at: stock.clock.now(), by: 'ada' })
    expect(await one.reserve()).toEqual({
      state: 'missing',
      wanted_mb: 3,
      kept_mb: 0,
      given_back_at: '2026-03-01T10:00:00.000Z',
      given_back_by: 'ada',
      why: 'It is made again within the hour once 0.1 GB are free.',
    })
    await one.keepReserve(signal)
    expect(await one.reserve()).toMatchObject({ state: 'kept', kept_mb: 3, given_back_at: null, given_back_by: null })
  })
})
