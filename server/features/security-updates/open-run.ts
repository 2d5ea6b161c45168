import type { Viewer } from '../../core/viewer.ts'
import type { JobState } from '../../core/work.ts'
import type { Queryable } from '../../db/db.ts'
import { SECURITY_UPDATES } from '../../imports/security/run.ts'
import { isoOrNull } from '../../lib/clock.ts'

interface Row {
  readonly id: string
  readonly state: JobState
  readonly done: number
  readonly total: number | null
  readonly started_at: Date | null
  readonly cancelled_by: string | null
}

/** The run that goes on or waits, as far as somebody may see it. */
export async function findOpenRun(db: Queryable, { hidden }: Viewer) {
  const row = await db.first<Row>(
    `select id, state, done, total, started_at, cancelled_by from job
    where kind = $1 and state in ('queued', 'running') and not codenames && $2::text[]
      and not ('*' = any(codenames) and cardinality($2::text[]) > 0)
    order by asked_at, id limit 1`,
    [SECURITY_UPDATES, hidden],
  )
  if (row === undefined) return null
  const { id, done, total, started_at: started, cancelled_by: by } = row
  return { job_id: id, started_at: isoOrNull(started), done_count: done, total, cancelling: by !== null }
}
