import type { PackageRef } from '../core/identity.ts'
import type { Decision, Event, Manifest } from '../core/manifest.ts'
import type { Report } from '../core/policy.ts'
import type { Finding } from '../core/findings.ts'
import type { SpooledFile } from '../files/spool.ts'

/** Who did it and from where, for the audit line. */
export interface Actor { readonly name: string; readonly ip?: string }

/** Everything that can alter a package's state. */
export type Change =
  /** A package that came through the gate, in the state the verdict gave it. */
  | { readonly kind: 'admit'; readonly manifest: Manifest; readonly file: SpooledFile }
  /** A person, or a retroactive mechanism, moved it. */
  | { readonly kind: 'event'; readonly ref: PackageRef; readonly event: Event; readonly decision?: Decision; readonly why: string }
  /** It was scanned again. The verdict may have moved it. */
  | { readonly kind: 'rescan'; readonly ref: PackageRef; readonly reports: readonly Report[]; readonly findings: readonly Finding[]; readonly event?: Event }
  | { readonly kind: 'delete'; readonly ref: PackageRef; readonly why: string }

export interface Changed {
  /** `already`: the same bytes were admitted before, nothing was changed. */
  readonly outcome: 'created' | 'already' | 'changed' | 'deleted'
  readonly manifest: Manifest
  /** Resolves when the files on disk say what the database says; false after `timeoutMs`. */
  settled(timeoutMs: number): Promise<boolean>
}

/** The one door: upload, import, review, rescan, quarantine, promote and delete all end here. */
export interface Catalog {
  /**
   * One transaction: the row, the audit line, and what is owed to the files.
   * @throws duplicate_conflict when the identity exists with other bytes, version_not_found, not_possible
   */
  change(change: Change, actor: Actor): Promise<Changed>
  find(ref: PackageRef): Promise<Manifest | undefined>
}
