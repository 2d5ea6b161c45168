import { AppError, isRefusal } from '../../core/errors.ts'
import { machineFaultOf } from '../../lib/machine-faults.ts'
import type { UpstreamFault } from '../../formats/upstream-files.ts'
import type { Source, SyncState } from '../source.ts'

/** How the synchronisation of one source ended. */
export interface SyncResult {
  /** The source's key. */
  readonly source_id: string
  readonly state: SyncState
  /** What is wrong, with the way out; null when nothing is. */
  readonly said: string | null
  /** Whether the catalogue holds other packages than before. */
  readonly changed: boolean
  /** How many packages the catalogue holds of it. */
  readonly packages: number
  readonly added: number
  readonly removed: number
  /** Fetched. */
  readonly bytes: number
}

/** A state that is not `ok`. */
export type Trouble = Exclude<SyncState, 'ok' | 'never'>

/** What a person can do about each state. */
export const WAYS_OUT: Readonly<Record<Trouble, string>> = {
  unsigned: 'If its vendor signs nothing but packages, an admin can say so at the source; else ask the vendor.',
  untrusted: "An admin adds the vendor's key at the source after checking its fingerprint.",
  expired: 'Its mirror may stand still: try another one, or let an admin accept expired data at the source.',
  not_yet_valid: 'Check the clock of this machine, then synchronise again.',
  replayed: 'Its mirror is behind: try another one. An admin can accept the older state once.',
  other_suite: 'Check suite and address of the source.',
  origin_changed: 'If the vendor announced that, an admin confirms it at the source.',
  clock_suspect: 'Check the clock of this machine, then synchronise again.',
  mirror_syncing: 'Its mirror is being updated: synchronise again in an hour.',
  damaged: 'Try another mirror, or tell the vendor.',
  unreachable: 'Check address, proxy and network, then synchronise again.',
  gone: 'Releases move to an archive at their end: change the address, or retire the source.',
  refused: 'An admin can change the address, or allow it.',
  error: 'Synchronise again; the log says more.',
}

/** Of a root that its mirror does not have: the network is well. */
const WAY_OUT_MISSING = 'Check address, suite and components of the source; if they are right, synchronise again later.'

const STATE_OF: Readonly<Record<UpstreamFault, Trouble>> = {
  missing: 'mirror_syncing',
  unsigned: 'unsigned',
  untrusted: 'untrusted',
  expired: 'expired',
  not_yet_valid: 'not_yet_valid',
  other_suite: 'other_suite',
  too_large: 'damaged',
  wrong_size: 'mirror_syncing',
  wrong_digest: 'mirror_syncing',
  malformed: 'damaged',
}

/** A source whose mirror is in the middle of an update so often is damaged. */
const SYNCING_TRIES = 3
/** A root that is missing for so long is gone. */
const GONE_MS = 3 * 86_400_000

/** What is remembered of tries before this one. */
export interface Tried {
  readonly failures: number
  readonly missing_since: Date | null
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

/** A fault of a mirror that may be over in a minute: what its root lists is not there yet. */
export const mayPass = (error: unknown): boolean =>
  isRefusal(error, 'upstream_refused') && ['missing', 'wrong_size', 'wrong_digest'].includes(String(error.facts.fault))

/**
 * The state that an error leaves a source in. @param inRoot  whether the root itself could not be read
 */
export function troubleOf(
  error: unknown,
  { inRoot, tried, now }: { readonly inRoot: boolean; readonly tried: Tried; readonly now: Date },
): { readonly state: Trouble; readonly said: string; readonly missing: boolean } {
  const missing = inRoot && isRefusal(error, 'upstream_refused') && error.facts.fault === 'missing'
  const state = ((): Trouble => {
    if (missing)
      return tried.missing_since !== null && now.getTime() - tried.missing_since.getTime() >= GONE_MS
        ? 'gone'
        : 'unreachable'
    if (isRefusal(error, 'upstream_refused')) {
      const found = STATE_OF[error.facts.fault as UpstreamFault]
      return found === 'mirror_syncing' && tried.failures + 1 >= SYNCING_TRIES ? 'damaged' : found
    }
    if (isRefusal(error, 'outbound_failed')) return 'unreachable'
    return error instanceof AppError ? 'refused' : 'error'
  })()
  const fault = machineFaultOf(error)
  const known = error instanceof AppError ? error : fault === undefined ? undefined : new AppError(fault, {})
  const what = known?.message ?? 'Something inside failed.'
  const wayOut = missing && state === 'unreachable' ? WAY_OUT_MISSING : WAYS_OUT[state]
  return { state, said: `${sentence(what)} ${wayOut}`, missing }
}

/** What the catalogue is read from, and how it is kept: where that changes, an unchanged root is read again. */
export const scopeOf = ({ components, archs, newest }: Source, layout: number): string =>
  [`${layout}`, components.join(','), archs.join(','), newest ?? ''].join('|')

/** Whether what is held was written in the way that is usual now. */
export const isOfLayout = (scope: string, layout: number): boolean => scope.startsWith(`${layout}|`)
