import type { Severity } from '../core/findings.ts'
import { slaDays } from '../core/review.ts'
import type { Db, Queryable } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import type { Clock } from '../lib/clock.ts'
import type { Notices } from '../outbound/notices.ts'
import type { Settings } from '../settings/store.ts'
import { conditions, dueSql } from '../catalog/queries/sql.ts'

/** A waiting package whose deadline has passed. */
export interface Breach {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly distribution: string
  readonly severity: Severity
  readonly held_at: string
  readonly due_at: string
  readonly assigned_to: string | null
}

export interface SlaCheck {
  /** Packages that wait for a decision. */
  readonly checked: number
  /** All that are past their deadline, and those of them that nobody had been told of before. */
  readonly breached: number
  readonly told: number
  readonly breaches: readonly Breach[]
}

export interface SlaWatch {
  /** Tells of every missed deadline that was not told yet, once, however often and from wherever it is called. */
  check(): Promise<SlaCheck>
}

export interface SlaDeps {
  readonly db: Db
  readonly outbox: Pick<Outbox, 'nudge'>
  readonly notices: Pick<Notices, 'owe'>
  readonly settings: Pick<Settings, 'now'>
  readonly clock: Clock
}

interface Row {
  readonly id: number
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly distribution: string
  readonly severity: Severity
  readonly held_at: Date
  readonly due_at: Date
  readonly assigned_to: string | null
}

// a message names that many packages at most; the rest follow in the next one
const A_MESSAGE = 100

/** Every breach, the oldest deadline first. */
async function listBreaches(db: Queryable, settings: Pick<Settings, 'now'>, now: Date): Promise<readonly Row[]> {
  const is = conditions()
  const due = dueSql(slaDays(settings.now().cve_policy), is.add)
  const at = is.add(now)
  return db.query<Row>(
    `
    select p.id, p.name, p.version, p.arch, p.codename as distribution, p.open_worst as severity, p.held_at, ${due} as due_at, p.assignee as assigned_to
    from package p where p.state = 'pending_review' and ${due} <= ${at} order by due_at, p.id`,
    is.values,
  )
}

const breachOf = ({ id: _, ...row }: Row): Breach => ({
  ...row,
  held_at: row.held_at.toISOString(),
  due_at: row.due_at.toISOString(),
})

/** Looks for packages past their deadline and tells of each once. */
export function createSlaWatch({ db, outbox, notices, settings, clock }: SlaDeps): SlaWatch {
  async function tellOf(rows: readonly Row[], now: Date): Promise<number> {
    return db.tx(async tx => {
      // who writes the row tells: of two checks at once one gets it
      const fresh = await tx.query<{ package_id: number }>(
        `
        insert into sla_breach (package_id, held_at, due_at, told_at)
        select b.id, b.held_at, b.due_at, $4 from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[]) as b (id, held_at, due_at)
        where exists (select 1 from package p where p.id = b.id)
        on conflict do nothing returning package_id`,
        [rows.map(({ id }) => id), rows.map(row => row.held_at), rows.map(row => row.due_at), now],
      )
      const told = new Set(fresh.map(row => row.package_id))
      const packages = rows
        .filter(({ id }) => told.has(id))
        .map(({ name, version, arch, distribution, severity, due_at }) => ({
          name,
          version,
          arch,
          distribution,
          worst: severity,
          due_at: due_at.toISOString(),
        }))
      if (packages.length > 0) await notices.owe(tx, { event: 'sla.breached', packages })
      return packages.length
    })
  }

  return {
    async check() {
      const now = clock.now()
      const rows = await listBreaches(db, settings, now)
      let told = 0
      for (let at = 0; at < rows.length; at += A_MESSAGE) told += await tellOf(rows.slice(at, at + A_MESSAGE), now)
      if (told > 0) outbox.nudge()
      const waiting = await db.first<{ n: number }>(`select count(*) as n from package where state = 'pending_review'`)
      return { checked: waiting?.n ?? 0, breached: rows.length, told, breaches: rows.map(breachOf) }
    },
  }
}
