import { STEP_RESULTS, tallyGate, type StepResult } from '../../catalog/queries/gate-flow.ts'
import { STATES, type State } from '../../core/manifest.ts'
import { STEP_NAMES, type StepName } from '../../core/report.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'

/** What became of the packages that came in, and what each step of the gate made of them. */
export interface GateFlow {
  readonly days: number
  /** Midnight in UTC, with which the first of the days began. */
  readonly since: string
  readonly arrived: number
  readonly uploaded: number
  readonly imported: number
  readonly states: Readonly<Record<State, number>>
  /** In the order of the gate. A package that one step refuses does not reach the next. */
  readonly steps: readonly (Readonly<Record<StepResult, number>> & { readonly name: StepName })[]
}

const DAY_MS = 86_400_000

/** Reads the flow of the last days, today included. @param days  1 or more */
export async function readGateFlow(
  db: Queryable,
  viewer: Viewer,
  { days, now }: { readonly days: number; readonly now: Date },
): Promise<GateFlow> {
  const since = new Date(Math.floor(now.getTime() / DAY_MS) * DAY_MS - (days - 1) * DAY_MS)
  const rows = await tallyGate(db, viewer, since)
  const sum = (is: (row: (typeof rows)[number]) => boolean): number =>
    rows.filter(is).reduce((total, { n }) => total + n, 0)
  const came = (is: (row: (typeof rows)[number]) => boolean): number => sum(row => row.step === null && is(row))
  return {
    days,
    since: since.toISOString(),
    arrived: came(() => true),
    uploaded: came(({ uploaded }) => uploaded === true),
    imported: came(({ uploaded }) => uploaded === false),
    states: Object.fromEntries(STATES.map(state => [state, came(row => row.state === state)])) as Record<State, number>,
    steps: STEP_NAMES.map(name => ({
      name,
      ...(Object.fromEntries(
        STEP_RESULTS.map(result => [result, sum(row => row.step === name && row.result === result)]),
      ) as Record<StepResult, number>),
    })),
  }
}
