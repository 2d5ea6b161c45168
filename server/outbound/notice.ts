import type { Severity } from '../core/findings.ts'
import type { Named } from '../core/identity.ts'
import type { StepName } from '../core/report.ts'

/** One package in a notification. */
export interface NoticePackage extends Omit<Named, 'format'> {
  readonly worst: Severity | null
  /** Findings that are not accepted: worst first, at most 50. */
  readonly cves: readonly string[]
  /** Why it is held, in sentences: malware, findings, an engine that did not answer, an acceptance that ended. */
  readonly reasons?: readonly string[]
  /** The steps of the gate that decided; absent where a later event did. */
  readonly steps?: readonly StepName[]
  readonly by: string
}

/** A package whose deadline has passed. */
export interface Overdue extends Pick<NoticePackage, 'name' | 'version' | 'arch' | 'distribution' | 'worst'> {
  /** ISO 8601. */
  readonly due_at: string
}

/** A disk that crossed a limit. */
export interface NoticeDisk {
  readonly used_pct: number
  readonly free_gb: number
  readonly total_gb: number
  /** Null where that cannot be told. */
  readonly days_until_full: number | null
  readonly remedy: string
}

/** A security update, and what became of it. */
export interface NoticeUpdate {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly distribution: string
  readonly standing: string
  readonly why: string | null
}

/** The events that people are notified of. Source: the specification, "Events", 1 and 3. */
export type Notice =
  | { readonly event: 'package.quarantined' | 'package.pending_review'; readonly package: NoticePackage }
  | { readonly event: 'sla.breached'; readonly packages: readonly Overdue[] }
  | { readonly event: 'disk.filling' | 'disk.uploads_stopped'; readonly disk: NoticeDisk }
  /** `packages` counts the changed ones. Below `notifications.webhook_min_packages` no notification is sent. */
  | {
      readonly event: 'sync.finished' | 'mirror.finished'
      readonly source: string
      readonly result: 'success' | 'failure'
      readonly packages: number
      readonly detail?: string
      /** The first 50 each. */
      readonly updates?: Readonly<Record<'came' | 'held' | 'missing', readonly NoticeUpdate[]>>
    }
