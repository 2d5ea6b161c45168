import type { State } from '../../core/manifest.ts'
import type { StepName } from '../../core/report.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

/** What one step of the gate made of a package. `unavailable`: it could not look, or not at all of it. */
export const STEP_RESULTS = ['passed', 'warned', 'held', 'refused', 'unavailable', 'skipped'] as const
export type StepResult = (typeof STEP_RESULTS)[number]

/**
 * The result that a stored report tells. What a later look found in a package that is here holds it: it refuses none.
 * @param report, state  SQL: the report as jsonb, the state of its package
 */
const resultOf = (report: string, state: string): string => `case
  when ${report}->>'outcome' = 'unavailable' or ${report}->>'verdict' in ('unavailable', 'no_data') then 'unavailable'
  when ${report}->>'outcome' = 'skipped' then 'skipped'
  when ${report}->'holds' = 'true' then 'held'
  when ${report}->>'outcome' = 'failed' then case when ${state} = 'pending_review' then 'held' else 'refused' end
  when ${report}->>'outcome' = 'warned' then 'warned'
  else 'passed' end`

/** True for packages `p` with a report of that step and result. @param gate  the place of `vulnerabilities:held` */
export const hasResult = (gate: string): string =>
  `exists (select 1 from jsonb_array_elements(p.manifest->'reports') as r
    where (r->>'step') || ':' || ${resultOf('r', 'p.state')} = ${gate})`

interface Tally {
  readonly step: StepName | null
  readonly result: StepResult | null
  readonly state: State | null
  readonly uploaded: boolean | null
  readonly n: number
}

/**
 * Counts the packages that came in since then and are still here, by state and way in (`step` is null), and what each
 * step made of them. It opens the manifest of each.
 */
export function tallyGate(db: Queryable, viewer: Viewer, since: Date): Promise<Tally[]> {
  const { values, add } = params(since)
  return db.query<Tally>(
    `
    with came as materialized (
      select state, origin = 'upload' as uploaded, manifest->'reports' as reports from package
      where created_at >= $1 and ${seenBy(viewer, add, 'codename')}
    )
    select null as step, null as result, state, uploaded, count(*) as n from came group by state, uploaded
    union all
    select r->>'step', ${resultOf('r', 'state')}, null, null, count(*)
    from came cross join lateral jsonb_array_elements(reports) as r group by 1, 2`,
    values,
  )
}
