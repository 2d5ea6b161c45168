import type { Denied, Finding } from './findings.ts'
import type { InstallRecord } from './install-facts.ts'
import type { LicenceRecord } from './licences/policy.ts'

/**
 * The gate's steps in the specification's order; `scripts` is one of ours, and is told only where installing a package
 * does more than to put plain files in their places.
 */
export const STEP_NAMES = [
  'format',
  'provenance',
  'antivirus',
  'vulnerabilities',
  'scripts',
  'signature',
  'dependencies',
] as const
export type StepName = (typeof STEP_NAMES)[number]

/** `unavailable`: the engine could not answer. It is never read as clean. */
export type Outcome = 'ok' | 'skipped' | 'warned' | 'failed' | 'unavailable'

/** The answer of one engine, for the record: its coverage, and which program it was. */
export interface EngineRecord {
  readonly id: string
  /** `covered`, `partial`, `not_covered`, `no_data`, `stale`, or `failed` when it did not answer. */
  readonly coverage: string
  /** `not_covered` because of this package alone: it knows the distribution. */
  readonly unnamed?: true
  readonly said: string
  readonly findings: number
  /** Its coverage of each language of what the package carries inside. */
  readonly ecosystems?: readonly {
    readonly ecosystem: string
    readonly coverage: string
    readonly said: string
    readonly data_at?: string
  }[]
  readonly binary?: { readonly path: string; readonly sha256: string; readonly version: string }
}

/** A file inside a package that was not opened, or not to its end. */
export interface UnopenedFile {
  readonly path: string
  readonly size: number
  /** One sentence. */
  readonly why: string
}

/** What a package carries inside, in short. */
export interface ContentsRecord {
  /** How many components files in it name: those that are there, and those that a file only wants. */
  readonly shipped: number
  readonly declared: number
  /** The first of those that were not opened, and how many there are beyond them. */
  readonly unopened: readonly UnopenedFile[]
  readonly more?: number
  /** Why the rest was not read, in one sentence. */
  readonly cut?: string
}

/** The report of one step. */
export interface Report {
  readonly step: StepName
  readonly outcome: Outcome
  /**
   * The specification's short word: `clean`, `infected`, `no_findings`, `no_data`, `partial`, `signed`, `satisfied`,
   * `missing`, `unavailable`.
   */
  readonly verdict: string
  /** One sentence for people: the thing, the rule, the way out. */
  readonly said: string
  readonly findings?: readonly Finding[]
  /** Vulnerabilities that a vendor's word closed, with that word. */
  readonly denied?: readonly Denied[]
  readonly engines?: readonly EngineRecord[]
  /** Absent where the package carries nothing that has a name, and all of it was read. */
  readonly contents?: ContentsRecord
  /** What installing it does; absent where it only puts plain files in their places. */
  readonly install?: InstallRecord
  /** What it says of its licence, in the report of the step `format`; absent where its format has no field for that. */
  readonly licence?: LicenceRecord
  /** What is new in that since the version that was published before, in one sentence. */
  readonly since?: { readonly version: string; readonly said: string }
  /** Needs that nothing in the distribution satisfies, as text. */
  readonly missing?: readonly string[]
  /** The policy asks for a review because of this step. */
  readonly holds?: true
  /** The cause of a failure decides the state: malware and policy blocks are quarantined, the rest is rejected. */
  readonly quarantine?: boolean
  /** How long the step took at the gate; absent in reports of older releases, and of later scans. */
  readonly took_ms?: number
}

/** Whether a report is left out: clients of the specification's steps hear of scripts where there are any. */
export const saysNothing = ({ step, outcome, verdict, since }: Report): boolean =>
  step === 'scripts' && outcome === 'ok' && verdict === 'plain' && since === undefined
