import { Type } from '@sinclair/typebox'
import type { Changed } from '../../catalog/change.ts'
import { FindingSchema, NAMED, ValidationSchema } from '../../catalog/schemas.ts'
import { stepView, uploadResult, type UploadResult } from '../../catalog/view.ts'
import type { StreamEvent } from '../../core/contract.ts'
import { OrNull } from '../../core/schemas.ts'
import { NOT_YET_INDEXED, STATES } from '../../core/manifest.ts'
import { STEP_NAMES, type Outcome, type Report, type StepName } from '../../core/report.ts'
import { policyOf } from '../../core/policy.ts'
import { causeOf } from '../../core/review.ts'
import type { AskedImport } from '../../imports/run/import-missing.ts'
import type { SettingsValue } from '../../settings/schema.ts'

/** The answer to an upload. `indexed: false` where the tree did not follow in time; it will. */
export type UploadReply = UploadResult & {
  readonly decided_by: readonly StepName[]
  readonly indexed?: false
  /** The import of what it lacks, where that was asked for. */
  readonly dependencies_import?: AskedImport
}

const Text = Type.String()

/** The schema of `UploadReply`. */
export const UploadResultSchema = Type.Unsafe<UploadReply>(
  Type.Object({
    ...NAMED,
    package: Text,
    status: Type.String({ enum: [...STATES, 'already_imported'] }),
    state: Type.String({ enum: [...STATES] }),
    pipeline: Type.Object({ antivirus: Text, cve_scan: Text, gpg: Text, dependencies: Text }),
    filename: Text,
    sha256: Text,
    size: Type.Integer(),
    validation: ValidationSchema,
    cves: Type.Array(FindingSchema),
    decided_by: Type.Array(Type.String({ enum: [...STEP_NAMES] }), {
      description: 'The steps whose findings decided the state; empty where nothing stood against it.',
    }),
    indexed: Type.Optional(Type.Literal(false)),
    dependencies_import: Type.Optional(
      Type.Object({ job_id: OrNull(Text), packages: Type.Array(Text), unlisted: Type.Array(Text) }),
    ),
  }),
)

/** Waits for the tree, at most 30 s, then answers truthfully either way. */
export async function replyOf(
  changed: Changed,
  {
    waitMs,
    settings,
  }: {
    readonly waitMs: number
    readonly settings: Pick<SettingsValue, 'cve_policy' | 'script_policy' | 'license_policy' | 'validation'>
  },
): Promise<UploadReply> {
  const { manifest, outcome } = changed
  const { steps = [] } = causeOf(manifest, policyOf(settings), manifest.changed_at)
  const result = { ...uploadResult(manifest, outcome), decided_by: steps }
  return (await changed.settled(waitMs)) ? result : { ...result, indexed: false }
}

/** 201 for a package that is served, now or after a review; 200 for one that was known or is kept away from clients. */
export function statusOf({ outcome, manifest }: Changed): 200 | 201 {
  return outcome === 'created' && (manifest.state === 'published' || manifest.state === 'pending_review') ? 201 : 200
}

type Stage = StepName | 'publish'
type Progress = 'running' | 'passed' | 'warning' | 'failed' | 'skipped' | 'unavailable'

const PROGRESS: Record<Outcome, Progress> = {
  ok: 'passed',
  warned: 'warning',
  failed: 'failed',
  skipped: 'skipped',
  unavailable: 'unavailable',
}

/** The words of existing clients: an engine that could not answer is a warning, never done. */
const STATUS: Record<Progress, 'running' | 'done' | 'warn' | 'error'> = {
  running: 'running',
  passed: 'done',
  skipped: 'done',
  warning: 'warn',
  unavailable: 'warn',
  failed: 'error',
}

/** The names and labels of existing clients. */
const STAGES: Record<Stage, { readonly name: string; readonly label: string; readonly running: string }> = {
  format: { name: 'format', label: 'Format', running: 'Reading the package.' },
  provenance: { name: 'provenance', label: 'SHA-256', running: 'Comparing its SHA-256.' },
  antivirus: { name: 'antivirus', label: 'Antivirus', running: 'Looking for malware.' },
  vulnerabilities: { name: 'cve', label: 'CVE scan', running: 'Looking up known vulnerabilities.' },
  scripts: { name: 'scripts', label: 'Scripts', running: 'Reading what installing it does.' },
  signature: { name: 'gpg', label: 'Signature', running: 'Checking signatures and the signing key.' },
  dependencies: { name: 'dependencies', label: 'Dependencies', running: 'Looking for what it needs.' },
  publish: { name: 'publish', label: 'Publication', running: 'Writing the signed index.' },
}

const event = (
  step: Stage,
  outcome: Progress,
  { message, detail = '', ...more }: { readonly message: string; readonly detail?: string },
): StreamEvent => {
  const { name, label } = STAGES[step]
  return { event: 'step', data: { name, label, status: STATUS[outcome], message, detail, step, outcome, ...more } }
}

export const runningEvent = (step: Stage): StreamEvent => event(step, 'running', { message: STAGES[step].running })

/** Ends a step that was announced and then not needed. */
export const knownEvent = (step: StepName): StreamEvent =>
  event(step, 'skipped', { message: 'The same bytes are here already.' })

/** Ends a step during which the package was refused, or something broke. */
export const refusedEvent = (step: Stage, message: string): StreamEvent => event(step, 'failed', { message })

export function stepEvent(report: Report): StreamEvent {
  const { name, ...view } = stepView(report)
  return event(name, PROGRESS[report.outcome], view)
}

export function publishEvent(reply: UploadReply): StreamEvent {
  if (reply.status !== 'published')
    return event('publish', 'skipped', {
      message: reply.validation.publication,
    })
  return reply.indexed === false
    ? event('publish', 'warning', { message: NOT_YET_INDEXED })
    : event('publish', 'passed', { message: `${reply.distribution} names it. Clients see it after their next update.` })
}

/** What `POST /upload/` would have answered. */
export const resultEvent = (reply: UploadReply): StreamEvent => ({
  event: 'result',
  data: { ...reply, result: reply },
})
