import type { Iso, PackageName, PackageRef } from '../core/identity.ts'
import type { Manifest } from '../core/manifest.ts'
import type { Tx } from '../db/db.ts'
import type { SpooledFile } from '../files/spool.ts'
import type { AuditFact } from '../record/audit.ts'

/** Who did it and from where, for the audit line. */
export interface Actor {
  readonly name: string
  readonly ip?: string
}

/**
 * What a review makes of a version: the whole manifest as it is to be, and the line for the audit log; none where only
 * scores moved.
 */
export interface Judgement {
  readonly after: Manifest
  readonly fact?: Pick<AuditFact, 'action' | 'result' | 'facts'>
}

/**
 * A version that came through the gate, in the state the verdict gave it. `files` are the bytes of `manifest.files`, in
 * that order.
 */
export interface Admit {
  readonly kind: 'admit'
  readonly manifest: Manifest
  readonly files: readonly SpooledFile[]
}

/** A published version is published elsewhere, too: the same files, what the gate said, what people decided. */
export interface Copy {
  readonly kind: 'copy'
  readonly from: PackageRef
  readonly to: PackageRef
}

/**
 * A decision, a new scan, an end of an acceptance. Worked out from the row while it is locked, so that of two at the
 * same moment the second sees what the first did; undefined changes nothing.
 */
export interface Review {
  readonly kind: 'review'
  readonly ref: PackageRef
  readonly judge: (before: Manifest, now: Iso) => Judgement | undefined
}

/** `unless` is asked while the row is locked: what it was found by may be different by now. True leaves it there. */
export interface Delete {
  readonly kind: 'delete'
  readonly ref: PackageRef
  readonly why: string
  readonly unless?: (tx: Tx) => Promise<boolean>
}

/** A name that moves between versions, as `latest`: it names `version` from now on, or without one nothing any more. */
export interface SetTag {
  readonly kind: 'tag'
  readonly of: PackageName
  readonly tag: string
  readonly version?: string
}

/** Everything that can alter what is here. */
export type Change = Admit | Copy | Review | Delete | SetTag

export interface Changed {
  /**
   * `already`: nothing was changed; the same bytes were admitted before, the tag named that version, or a review or an
   * `unless` left everything as it is.
   */
  readonly outcome: 'created' | 'already' | 'changed' | 'deleted'
  /** The version it was about; of a tag the one that it names, or named until now. */
  readonly manifest: Manifest
  /**
   * Resolves true when the published tree says what the database says; false after `timeoutMs`, a failed publication,
   * or while the distribution is rolled back.
   */
  settled(timeoutMs: number): Promise<boolean>
}

/** What a change wrote. `ask` is the publication that it owes; `isQuiet`: nobody is told of it. */
export interface Written {
  readonly outcome: Changed['outcome']
  readonly manifest: Manifest
  readonly ask?: number
  readonly isQuiet?: boolean
}
