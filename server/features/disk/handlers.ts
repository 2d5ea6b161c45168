import type { Handlers } from '../../core/contract.ts'
import { levelOf } from '../../core/disk.ts'
import { fail } from '../../core/errors.ts'
import type { Db } from '../../db/db.ts'
import type { Layout } from '../../files/layout.ts'
import type { Clock } from '../../lib/clock.ts'
import { space } from '../../lib/disk-space.ts'
import type { Audit } from '../../record/audit.ts'
import type { Settings } from '../../settings/store.ts'
import type { disk } from './contract.ts'
import type { Reserve } from './reserve.ts'
import { listDays, noteGivenBack } from './store.ts'
import type { DiskWatch } from './watch.ts'

export interface DiskRouteDeps {
  readonly db: Db
  readonly layout: Pick<Layout, 'root'>
  readonly clock: Clock
  readonly settings: Pick<Settings, 'now'>
  readonly audit: Pick<Audit, 'owe'>
  readonly reserve: Reserve
  readonly watch: DiskWatch
}

export const diskHandlers: Handlers<typeof disk, DiskRouteDeps> = {
  'GET /disk': async ({ db, layout, settings, watch }) => {
    const [here, facts, days] = await Promise.all([space(layout.root), watch.facts(), listDays(db)])
    const { warn_used_pct, min_free_disk_gb } = settings.now().disk
    return {
      level: levelOf(here, { warn_used_pct, min_free_disk_gb }),
      used_pct: here.used_pct,
      free_gb: here.free_gb,
      total_gb: here.total_gb,
      warn_used_pct,
      min_free_disk_gb,
      ...facts,
      days: days.map(({ at, usedBytes, freeBytes }) => ({
        at: at.toISOString(),
        used_bytes: usedBytes,
        free_bytes: freeBytes,
      })),
    }
  },
  'POST /disk/reserve/give-back': async ({ db, clock, audit, reserve, watch }, { who, raw }) => {
    // the file first: with a full disk the database may not take the note before
    const freed = await reserve.giveBack()
    if (freed === 0) {
      const { why } = await watch.reserve()
      return fail('no_reserve', { why: why ?? 'The setting disk.reserve_mb asks for none.' })
    }
    await db.tx(async tx => {
      await noteGivenBack(tx, { at: clock.now(), by: who.name })
      await audit.owe(tx, {
        action: 'RESERVE_GIVE_BACK',
        result: 'SUCCESS',
        user: who.name,
        ip: raw.clientIp,
        facts: { kind: 'reserve.given_back', bytes: freed },
      })
    })
    const kept = await watch.reserve()
    return {
      status: 'given_back',
      message: `${Math.floor(freed / 1024 ** 2)} MB are free again. ${kept.why ?? ''}`.trim(),
      freed_bytes: freed,
      reserve: kept,
    }
  },
}
