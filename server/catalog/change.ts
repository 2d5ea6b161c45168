import type { Iso, PackageName, PackageRef } from '../core/identity.ts'
import type { Manifest } from '../core/manifest.ts'
import type { StepName } from '../core/report.ts'
import type { Tx } from '../db/db.ts'
import type { SpooledFile } from '../files/spool.ts'
import type { Outcome } from '../lib/groups.ts'
import type { AuditFact } from '../record/audit.ts'

/** Who did it and from where, for the audit line. */
export interface Actor {
  readonly name: string
  readonly ip?: string
}

/** The result of a review: the whole new manifest, and the audit line; none where only scores moved. */
export interface Judgement {
  readonly after: Manifest
  readonly fact?: Pick<AuditFact, 'action' | 'result' | 'facts'>
}

/**
 * A version that came through the gate, in the state of the verdict. `files` are the bytes of `manifest.files`, in that
 * order.
 */
export interface Admit {
  readonly kind: 'admit'
  readonly manifest: Manifest
  readonly files: readonly SpooledFile[]
  /** The steps that decided the state, for the audit line; absent where nothing stood against it. */
  readonly because?: readonly StepName[]
  /** One of many that are published together: the tree may follow so much later, in ms; absent: at once. */
  readonly publishWithinMs?: number
}

/** A published version is published elsewhere, too: the same files, reports and decisions. */
export interface Copy {
  readonly kind: 'copy'
  /** The first one of where it comes from, and those of where it goes; absent: it stays in the first one. */
  readonly components?: { readonly from: string; readonly to: readonly string[] }
  readonly from: PackageRef
  readonly to: PackageRef
}

/**
 * A decision, a new scan, the end of an acceptance. Computed while the row is locked, so that of two at once the second
 * sees what the first did; undefined changes nothing.
 */
export interface Review {
  readonly kind: 'review'
  readonly ref: PackageRef
  readonly judge: (before: Manifest, now: Iso) => Judgement | undefined
  /** One of many that are published together: the tree may follow so much later, in ms; absent: at once. */
  readonly publishWithinMs?: number
}

/**
 * `unless` is asked while the row is locked: it may differ by now from what it was found by. True keeps the version.
 */
export interface Delete {
  readonly kind: 'delete'
  readonly ref: PackageRef
  readonly why: string
  readonly unless?: (tx: Tx) => Promise<boolean>
}

/**
 * A name that moves between versions, such as `latest`: names `version` from now on, or nothing when there is none.
 * `unless` is asked while the package's tags are locked; true keeps the tag.
 */
export interface SetTag {
  readonly kind: 'tag'
  readonly of: PackageName
  readonly tag: string
  readonly version?: string
  /** When somebody moved it elsewhere, where it comes from there; absent: now. */
  readonly at?: Iso
  /** Who is said to have set it, where that is not who acts: `source:bundle-hub`. */
  readonly by?: string
  readonly unless?: (tx: Tx) => Promise<boolean>
}

/** Everything that can change what is here. */
export type Change = Admit | Copy | Review | Delete | SetTag

export interface Changed {
  /**
   * `already`: nothing was changed. The same bytes were admitted before, the tag named that version, or a review or an
   * `unless` left everything as it is.
   */
  readonly outcome: 'created' | 'already' | 'changed' | 'deleted'
  /** The version concerned; for a tag the one that it names, or named until now. */
  readonly manifest: Manifest
  /**
   * Resolves true when the published tree says what the database says; false after `timeoutMs`, a failed publication,
   * or while the distribution is rolled back.
   */
  settled(timeoutMs: number): Promise<boolean>
}

/**
 * Written in the transaction of the last of many: how far a job is. `outcomes` are in the order of the changes. When it
 * throws, nothing of that transaction happened.
 */
export type Within = (tx: Tx, outcomes: readonly Outcome<Pick<Written, 'outcome' | 'manifest'>>[]) => Promise<void>

/** What a change wrote. `ask` is the publication that it owes; `isQuiet`: no notification. */
export interface Written {
  readonly outcome: Changed['outcome']
  readonly manifest: Manifest
  readonly ask?: number
  readonly isQuiet?: boolean
}
