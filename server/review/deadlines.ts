import { countWaiting, listDue, markNotified, type Breach } from '../catalog/queries/deadlines.ts'
import { slaDays } from '../core/review.ts'
import { ALL_SEEING, seesAll, type Viewer } from '../core/viewer.ts'
import type { Db } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import type { Clock } from '../lib/clock.ts'
import type { Notices } from '../outbound/notices.ts'
import type { Settings } from '../settings/store.ts'
import { NEAR_DAYS } from './queue.ts'

export interface SlaCheck {
  /** The number of held packages. */
  readonly checked: number
  /** All that are past their deadline, and those of them that were not reported before. */
  readonly breached: number
  readonly told: number
  readonly breaches: readonly Breach[]
  /** Those whose deadline is within seven days. */
  readonly near: readonly Breach[]
}

export interface SlaWatch {
  /**
   * Notifies about every missed deadline not reported before, once, however often and from wherever it is called. The
   * answer is about what the viewer may see.
   */
  check(viewer: Viewer): Promise<SlaCheck>
}

export interface SlaDeps {
  readonly db: Db
  readonly outbox: Pick<Outbox, 'nudge'>
  readonly notices: Pick<Notices, 'owe'>
  readonly settings: Pick<Settings, 'now'>
  readonly clock: Clock
}

// one message names this many packages at most; the rest follow in the next one
const A_MESSAGE = 100

/** Finds packages past their deadline and reports each once. */
export function createSlaWatch({ db, outbox, notices, settings, clock }: SlaDeps): SlaWatch {
  /** @returns the ids of those that were not reported before */
  async function tellOf(rows: readonly (Breach & { readonly id: number })[], now: Date): Promise<ReadonlySet<number>> {
    return db.tx(async tx => {
      const told = await markNotified(tx, ALL_SEEING, { rows, now })
      const packages = rows
        .filter(({ id }) => told.has(id))
        .map(({ name, version, arch, distribution, severity: worst, due_at }) => ({
          name,
          version,
          arch,
          distribution,
          worst,
          due_at,
        }))
      if (packages.length > 0) await notices.owe(tx, { event: 'sla.breached', packages })
      return told
    })
  }

  return {
    async check(viewer) {
      const now = clock.now()
      const days = slaDays(settings.now().cve_policy)
      const all = await listDue(db, ALL_SEEING, { days, until: now })
      const told = new Set<number>()
      for (let at = 0; at < all.length; at += A_MESSAGE)
        for (const id of await tellOf(all.slice(at, at + A_MESSAGE), now)) told.add(id)
      if (told.size > 0) outbox.nudge()
      const rows = seesAll(viewer) ? all : await listDue(db, viewer, { days, until: now })
      const soon = new Date(now.getTime() + NEAR_DAYS * 86_400_000)
      const near = await listDue(db, viewer, { days, after: now, until: soon })
      return {
        checked: await countWaiting(db, viewer),
        breached: rows.length,
        told: rows.filter(({ id }) => told.has(id)).length,
        breaches: rows.map(({ id: _, ...breach }) => breach),
        near: near.map(({ id: _, ...breach }) => breach),
      }
    },
  }
}
