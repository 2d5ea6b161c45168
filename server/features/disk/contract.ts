import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import type { DiskLevel, Forecast, ReserveFacts } from '../../core/disk.ts'
import { OrNull, Text, Time } from '../../core/schemas.ts'

/** The disk below REPOS_ROOT. GB are 1024³ bytes, MB 1024². */
export interface DiskReport {
  readonly level: DiskLevel
  readonly used_pct: number
  readonly free_gb: number
  readonly total_gb: number
  readonly warn_used_pct: number
  readonly min_free_disk_gb: number
  readonly forecast: Forecast
  readonly reserve: ReserveFacts
  /** The last of each day, up to 90 days. */
  readonly days: readonly { readonly at: string; readonly used_bytes: number; readonly free_bytes: number }[]
}

const Reserve = Type.Unsafe<ReserveFacts>(
  Type.Object({
    state: Type.String({ enum: ['none', 'kept', 'missing'] }),
    wanted_mb: Type.Integer(),
    kept_mb: Type.Integer(),
    given_back_at: OrNull(Time),
    given_back_by: OrNull(Text),
    why: OrNull(Text),
  }),
)

/** Room on the disk below REPOS_ROOT. */
export const disk = contract({
  'GET /disk': {
    summary: 'Shows how full the disk is, was on each of the last 90 days, and when it will be full.',
    access: 'auditor+',
    reply: Type.Unsafe<DiskReport>(
      Type.Object({
        level: Type.String({ enum: ['fine', 'filling', 'stopped'] }),
        used_pct: Type.Number(),
        free_gb: Type.Number(),
        total_gb: Type.Number(),
        warn_used_pct: Type.Number(),
        min_free_disk_gb: Type.Number(),
        forecast: Type.Object({
          days_until_full: OrNull(Type.Integer()),
          days_until_uploads_stop: OrNull(Type.Integer()),
          bytes_per_day: OrNull(Type.Integer()),
          samples: Type.Integer(),
          since: OrNull(Time),
          why: OrNull(Text),
        }),
        reserve: Reserve,
        days: Type.Array(Type.Object({ at: Time, used_bytes: Type.Integer(), free_bytes: Type.Integer() })),
      }),
    ),
  },
  'POST /disk/reserve/give-back': {
    summary: 'Gives the reserve back: removes the file that keeps room for a full disk.',
    details: 'The clock makes it again when there is room for it and for uploads.',
    access: 'admin',
    limit: { bucket: 'disk', perMinute: 10 },
    reply: Type.Object({ status: Text, message: Text, freed_bytes: Type.Integer(), reserve: Reserve }),
    fails: ['no_reserve'],
  },
})
