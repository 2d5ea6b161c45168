import type { Codename, FormatId } from '../core/identity.ts'

/**
 * A repository of others that packages are imported from: one signed root (`InRelease`, `repomd.xml`, `APKINDEX`) with
 * all that it lists.
 */
export interface Source {
  readonly id: number
  /** Its name in settings and addresses: `bookworm-security`. Lower case, digits, `.` and `-`. */
  readonly key: string
  readonly label: string
  readonly format: FormatId
  /** `http`: fetched from `urls`, the first that answers; `tree`: read from the directory that `urls` names. */
  readonly kind: 'http' | 'tree'
  /** Base addresses, each with a slash at its end; those after the first are mirrors of it. Never empty. */
  readonly urls: readonly string[]
  /** APT: `bookworm`, or a path that ends in a slash for a flat repository. */
  readonly suite?: string
  /** APT: `main`. */
  readonly components: readonly string[]
  readonly archs: readonly string[]
  /** The distributions here that its packages are for. */
  readonly codenames: readonly Codename[]
  /** Whether the security synchronisation looks here. */
  readonly security: boolean
  /** Whom it is trusted from: fingerprints of primary keys in upper case; APK: file names of keys. */
  readonly keys: readonly string[]
  /** False for vendors who sign their packages and not their metadata: then each package's own signature is needed. */
  readonly signed: boolean
  /** Data after their `Valid-Until` are accepted. */
  readonly allowExpired: boolean
  /** So many versions of each name are kept in the catalogue; absent: all. */
  readonly newest?: number
  readonly enabled: boolean
  /** Comes with the product. */
  readonly builtin: boolean
  /** Its release has come to its end: hidden, and no longer synchronised by the clock. */
  readonly retired: boolean
}

/** How the last synchronisation of a source ended: one word for each thing that a person can do about it. */
export const SYNC_STATES = [
  'never',
  'ok',
  // the root is not what the source promises
  'unsigned',
  'untrusted',
  'expired',
  'not_yet_valid',
  'replayed',
  'other_suite',
  'origin_changed',
  'clock_suspect',
  // what it lists is not what it serves
  'mirror_syncing',
  'damaged',
  // it could not be asked
  'unreachable',
  'gone',
  'refused',
  'error',
] as const
export type SyncState = (typeof SYNC_STATES)[number]
