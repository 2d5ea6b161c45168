import type { FetchPath, UpstreamRoot } from '../../formats/upstream.ts'
import type { TrustedKeys } from '../../signing/trusted-keys.ts'
import type { Source, SyncState } from '../source.ts'

/** A source that is being read. */
export interface Reached {
  readonly fetch: FetchPath
  /** How many bytes came so far. */
  bytes(): number
  /** The base address that answered last. */
  mirror(): string | undefined
}

/** The way to a source. @throws outbound_refused, tree_refused for addresses that are never asked */
export interface OpenSource {
  open(source: Source, options: { readonly signal: AbortSignal }): Reached
}

/** Whom a source is trusted from. */
export type KeysFor = (source: Source) => Promise<TrustedKeys>

/** Why a root is not taken although its signature is good, with the way out. */
export interface RootRefusal {
  readonly state: SyncState
  readonly said: string
}

/** Judges roots by what is remembered of those before. @returns undefined for those that may be read */
export type JudgeRoots = (source: Source, roots: readonly UpstreamRoot[]) => Promise<RootRefusal | undefined>
