import type { Codename } from './identity.ts'
import type { SignatureRule } from './signature-words.ts'

/**
 * `hosted`: its versions are published here. `proxy`: it reads through to an upstream. `group`: one address for others.
 */
export const REGISTRY_KINDS = ['hosted', 'proxy', 'group'] as const
export type RegistryKind = (typeof REGISTRY_KINDS)[number]

/** Where a proxy reads. What it sends as a password or token is kept in `registry_secret`, sealed. */
export interface RegistryUpstream {
  /** The address that its clients would use, without a slash at the end. */
  readonly url: string
  /** The name that goes with the secret (Basic); absent: a secret is sent as a token (Bearer). */
  readonly user?: string
}

/** From when on a version grows old: its date at the upstream, or when this registry saw it for the first time. */
export const AGE_SOURCES = ['upstream', 'first_seen'] as const
export type AgeSource = (typeof AGE_SOURCES)[number]

/**
 * What a repository is whose clients ask for each name instead of reading a signed index. Its `codename` is the name in
 * its address, and it shares the names with distributions.
 */
export interface RegistryRules {
  readonly kind: RegistryKind
  /** Of a group: asked in this order. */
  readonly members?: readonly Codename[]
  readonly upstream?: RegistryUpstream
  /** Of a proxy: versions younger than so many days are hidden; absent: none. One without a date is young. */
  readonly minAgeDays?: number
  /** `upstream` where it is absent. */
  readonly ageFrom?: AgeSource
  /** Of a proxy: versions whose name looks like one of the house wait for a person. */
  readonly holdLookalikes?: true
  /** Names that belong to the house, whether or not a version of them is here: `@ours/*`, `com.ours.*`, `ours-*`. */
  readonly reserved?: readonly string[]
  /** Of a Maven registry: the newest builds of a snapshot that are kept. */
  readonly snapshotsKept?: number
  /** What becomes of a version without a good signature; absent: nothing. */
  readonly requireSignature?: Exclude<SignatureRule, 'none'>
}
