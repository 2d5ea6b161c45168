import {
  levelOf,
  MAKE_ROOM,
  type DiskLevel,
  type DiskLimits,
  type Forecast,
  type ReserveFacts,
} from '../../core/disk.ts'
import { FORECAST_DAYS, forecastOf } from '../../core/disk-forecast.ts'
import type { Db } from '../../db/db.ts'
import type { Outbox } from '../../db/outbox.ts'
import type { Layout } from '../../files/layout.ts'
import { cached } from '../../lib/cached.ts'
import type { Clock } from '../../lib/clock.ts'
import { space, type Space } from '../../lib/disk-space.ts'
import type { Notices } from '../../outbound/notices.ts'
import type { Settings } from '../../settings/store.ts'
import type { Reserve } from './reserve.ts'
import { addSample, listSamples, noteGivenBack, noteLevel, pruneSamples, readDiskState } from './store.ts'

export interface WatchDeps {
  readonly db: Db
  readonly layout: Pick<Layout, 'root'>
  readonly clock: Clock
  readonly settings: Pick<Settings, 'now'>
  readonly notices: Pick<Notices, 'owe'>
  readonly outbox: Pick<Outbox, 'nudge'>
  readonly reserve: Reserve
  /** The figures of the disk. */
  readonly look?: (path: string) => Promise<Space>
}

/** What is known of the disk below REPOS_ROOT, beside its figures. */
export interface DiskWatch {
  facts(): Promise<{ readonly forecast: Forecast; readonly reserve: ReserveFacts }>
  reserve(): Promise<ReserveFacts>
  /** Samples the disk, and tells people when it crosses a limit: once for each crossing. */
  sample(): Promise<void>
  /** Makes the reserve again where there is room, and removes one that is not wanted. */
  keepReserve(signal: AbortSignal): Promise<void>
}

const MB = 1024 ** 2
const GB = 1024 ** 3
const DAY_MS = 86_400_000
const SAMPLE_DAYS = 90
const FORECAST_MS = 10 * 60_000
const RANK: Record<DiskLevel, number> = { fine: 0, filling: 1, stopped: 2 }

/** A level is left only well below its limit: a disk that hovers around it must not send a message each time. */
const easier = ({ warn_used_pct: warn, min_free_disk_gb: least }: DiskLimits): DiskLimits => ({
  warn_used_pct: warn === 0 ? 0 : Math.max(0.1, warn - 2),
  min_free_disk_gb: least * 1.1,
})

/** The level that people are told of next, after they were told of this one. */
export function nextLevel(told: DiskLevel, disk: Pick<Space, 'freeBytes' | 'used_pct'>, limits: DiskLimits): DiskLevel {
  const now = levelOf(disk, limits)
  if (RANK[now] >= RANK[told]) return now
  const well = levelOf(disk, easier(limits))
  return RANK[well] < RANK[told] ? well : told
}

export function createDiskWatch(deps: WatchDeps): DiskWatch {
  const { db, layout, clock, settings, notices, outbox, reserve, look = space } = deps
  const limits = () => settings.now().disk
  const wantedBytes = (): number => limits().reserve_mb * MB
  /** What must stay free beside the reserve: it must not stop uploads, nor be taken again at once. */
  const besideBytes = (): number => Math.max(limits().min_free_disk_gb * GB * 1.1, wantedBytes())

  const forecast = cached({
    clock,
    ms: FORECAST_MS,
    read: async () => {
      const now = clock.now()
      const samples = await listSamples(db, new Date(now.getTime() - FORECAST_DAYS * DAY_MS))
      return forecastOf(samples, { now, leastFreeBytes: limits().min_free_disk_gb * GB })
    },
  })

  async function reserveFacts(): Promise<ReserveFacts> {
    const [bytes, { given_back_at: at, given_back_by: by }] = await Promise.all([reserve.size(), readDiskState(db)])
    const wanted = wantedBytes()
    const missing = wanted - bytes
    const needGb = Math.ceil(((besideBytes() + missing) / GB) * 10) / 10
    return {
      state: missing > 0 ? 'missing' : bytes > 0 ? 'kept' : 'none',
      wanted_mb: limits().reserve_mb,
      kept_mb: Math.floor(bytes / MB),
      given_back_at: at?.toISOString() ?? null,
      given_back_by: by,
      why:
        missing > 0
          ? at === null
            ? `It is made within the hour once ${needGb} GB are free.`
            : `It is made again within the hour once ${needGb} GB are free.`
          : null,
    }
  }

  async function tell(disk: Space): Promise<void> {
    const { level: told } = await readDiskState(db)
    const level = nextLevel(told, disk, limits())
    if (level === told) return
    const days = (await forecast()).days_until_full
    await db.tx(async tx => {
      if (!(await noteLevel(tx, told, level)) || RANK[level] < RANK[told] || level === 'fine') return
      await notices.owe(tx, {
        event: level === 'stopped' ? 'disk.uploads_stopped' : 'disk.filling',
        disk: {
          used_pct: disk.used_pct,
          free_gb: disk.free_gb,
          total_gb: disk.total_gb,
          days_until_full: days,
          remedy: MAKE_ROOM,
        },
      })
    })
    outbox.nudge()
  }

  return {
    facts: async () => {
      const [soon, kept] = await Promise.all([forecast(), reserveFacts()])
      return { forecast: soon, reserve: kept }
    },
    reserve: reserveFacts,
    sample: async () => {
      const disk = await look(layout.root)
      const now = clock.now()
      await addSample(db, { at: now, usedBytes: disk.usedBytes, freeBytes: disk.freeBytes })
      await pruneSamples(db, new Date(now.getTime() - SAMPLE_DAYS * DAY_MS))
      await tell(disk)
    },
    keepReserve: async signal => {
      const wanted = wantedBytes()
      if (!(await reserve.make(wanted, besideBytes(), signal))) return
      if ((await readDiskState(db)).given_back_at !== null) await noteGivenBack(db, undefined)
    },
  }
}
