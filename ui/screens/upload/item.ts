import type { UploadRow } from '../../export-lists.ts'
import type { Parcel } from '../../sender.svelte.ts'
import type { UploadResult } from '../../wire.ts'
import { gateMarks, type Mark, type StepMark } from '../../words.ts'

/** What the console knows of a package on its way, beside the file. */
export interface Package {
  readonly format: string
  distribution: string
  /** Only where the distribution has several; empty means the one that the package names, else the first. */
  component: string
  steps: readonly StepMark[]
}
export type Item = Parcel<UploadResult> & Package

const MARKS: Readonly<Record<string, Mark>> = {
  running: 'running',
  passed: 'passed',
  warning: 'warned',
  failed: 'failed',
  skipped: 'skipped',
  unavailable: 'unavailable',
}

/** The steps after an event of the gate. */
export function marked(
  steps: readonly StepMark[],
  { step, outcome, message }: Readonly<Record<string, unknown>>,
): readonly StepMark[] {
  return steps.map(known =>
    known.id === step
      ? { ...known, mark: MARKS[String(outcome)] ?? 'waiting', said: typeof message === 'string' ? message : '' }
      : known,
  )
}

/** The steps as it ended. The final answer knows more: publication of a held package is drawn as held. */
export function markedAtEnd({
  steps,
  result,
  problem,
}: Pick<Item, 'steps' | 'result' | 'problem'>): readonly StepMark[] {
  if (problem !== undefined)
    return steps.map(step => (step.mark === 'running' ? { ...step, mark: 'failed', said: problem.message } : step))
  if (result === undefined || result.status === 'already_imported') return steps
  // whether the index names it already is what the server said of that step
  const published = result.state === 'published' ? steps.find(({ id }) => id === 'publish') : undefined
  return gateMarks(result.validation, result.state).map(step => (step.id === published?.id ? published : step))
}

/** True when the file did not reach the gate. */
export function isUntouched(item: Item): boolean {
  return item.steps.every(step => step.mark === 'waiting')
}

/** A file as the export of the list has it. */
export const rowOf = ({ file, distribution, component, phase, result, problem, finishedAt }: Item): UploadRow => ({
  file: file.name,
  size: file.size,
  distribution,
  component,
  state: result?.state ?? phase,
  name: result?.name ?? null,
  version: result?.version ?? null,
  arch: result?.arch ?? null,
  problem: problem?.message ?? null,
  finished_at: finishedAt === undefined ? null : new Date(finishedAt).toISOString(),
})
