import { Type } from '@sinclair/typebox'
import type { Changed } from '../../catalog/change.ts'
import { FindingSchema, NAMED, ValidationSchema } from '../../catalog/schemas.ts'
import { stepView, uploadResult, type UploadResult } from '../../catalog/view.ts'
import type { StreamEvent } from '../../core/contract.ts'
import { STATES } from '../../core/manifest.ts'
import type { Outcome, Report, StepName } from '../../core/report.ts'

/** The answer to an upload. `indexed: false` where the tree did not follow in time; it will. */
export type UploadReply = UploadResult & { readonly indexed?: false }

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
    indexed: Type.Optional(Type.Literal(false)),
  }),
)

/** Waits for the tree, at most 30 s, then answers truthfully either way. */
export async function replyOf(changed: Changed, waitMs: number): Promise<UploadReply> {
  const result = uploadResult(changed.manifest, changed.outcome)
  return (await changed.settled(waitMs)) ? result : { ...result, indexed: false }
}

/** 201 for a package that is served, now or after a review; 200 for one that was known or is kept away from clients. */
export function statusOf({ outcome, manifest }: Changed): 200 | 201 {
  return outcome === 'created' && (manifest.state === 'published' || manifest.state === 'pending_review') ? 201 : 200
}

const STATUS: Record<Outcome, string> = {
  ok: 'passed',
  warned: 'warning',
  failed: 'failed',
  skipped: 'skipped',
  unavailable: 'unavailable',
}

const RUNNING: Record<StepName | 'publish', string> = {
  format: 'Reading the package.',
  provenance: 'Comparing its SHA-256.',
  antivirus: 'Looking for malware.',
  vulnerabilities: 'Looking up known vulnerabilities.',
  signature: 'Checking signatures and the signing key.',
  dependencies: 'Looking for what it needs.',
  publish: 'Writing the signed index.',
}

export function runningEvent(step: StepName | 'publish'): StreamEvent {
  return { data: { step, status: 'running', message: RUNNING[step] } }
}

/** Ends a step that was announced and then not needed. */
export function knownEvent(step: StepName): StreamEvent {
  return { data: { step, status: 'skipped', message: 'The same bytes are here already.' } }
}

export function stepEvent(report: Report): StreamEvent {
  const { name, ...view } = stepView(report)
  return { data: { step: name, status: STATUS[report.outcome], ...view } }
}

export function publishEvent(reply: UploadReply): StreamEvent {
  if (reply.status !== 'published')
    return {
      data: {
        step: 'publish',
        status: 'skipped',
        message: `The package is ${reply.state}, so the index does not name it.`,
      },
    }
  return reply.indexed === false
    ? {
        data: {
          step: 'publish',
          status: 'warning',
          message:
            'The index does not name it yet. It follows, or when a distribution that is rolled back goes forward again.',
        },
      }
    : { data: { step: 'publish', status: 'passed', message: `${reply.distribution} names it.` } }
}

/** The last event of a stream. */
export function resultEvent(reply: UploadReply): StreamEvent {
  return { data: { status: reply.status, result: reply } }
}
