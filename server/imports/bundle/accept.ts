import { basename } from 'node:path'
import { fail } from '../../core/errors.ts'
import type { Queryable } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import { Malformed } from '../../lib/limited.ts'
import { systemErrorInWords } from '../../lib/system-errors.ts'
import { openBundle, type OpenBundle } from './members.ts'
import { findTaken, listMissing, listSenders, type Sender } from './senders.ts'
import { checkSigned, printFingerprint, type Signed } from './trust.ts'
import { digestOf } from './write-bundle.ts'

/** How a bundle stands to those that came before. */
export const SEQUENCES = ['next', 'again', 'older', 'gap'] as const
export type Sequence = (typeof SEQUENCES)[number]

/** What is known of a bundle before it is read to its end. */
export interface Looked {
  readonly bundle: OpenBundle
  /** The digest of its list. */
  readonly sha256: string
  readonly signed: Signed
  /** Undefined where nobody pinned its key. */
  readonly sender: Sender | undefined
  readonly sequence: Sequence
  /** The bundles that it builds on and that neither came nor were made good. */
  readonly missing: readonly number[]
}

export interface LookDeps {
  readonly db: Queryable
  readonly clock: Clock
}

/** What is wrong with the file, as a refusal. */
export function refusalOf(error: unknown, file: string): never {
  if (error instanceof Malformed) return fail('bundle_refused', { file, why: error.why }, error)
  const said = systemErrorInWords(error)
  if (said !== undefined) return fail('bundle_place_refused', { path: file, why: said }, error)
  throw error
}

async function sequenceOf(
  { db }: LookDeps,
  sender: Sender | undefined,
  { manifest }: OpenBundle,
  sha256: string,
): Promise<Pick<Looked, 'sequence' | 'missing'>> {
  if (sender === undefined) return { sequence: 'next', missing: [] }
  const { number, based_on: base } = manifest
  const missing = await listMissing(db, sender.id, { from: base.since + 1, upTo: Math.min(base.number, number - 1) })
  const known = await findTaken(db, { senderId: sender.id, sha256 })
  if (number === sender.last_number && known?.state === 'done') return { sequence: 'again', missing }
  if (number <= sender.last_number) return { sequence: 'older', missing }
  return { sequence: missing.length > 0 ? 'gap' : 'next', missing }
}

/**
 * Reads the beginning of a bundle and says who made it and how it follows on. The caller closes it.
 * @throws bundle_refused, bundle_place_refused
 */
export async function lookAt(deps: LookDeps, path: string, file = basename(path)): Promise<Looked> {
  const bundle = await openBundle(path).catch((error: unknown) => refusalOf(error, file))
  try {
    const { manifest, head, sizeBytes, wholeBytes } = bundle
    if (sizeBytes !== wholeBytes)
      fail('bundle_refused', {
        file,
        why: `it has ${sizeBytes} bytes, and its list says ${wholeBytes}: it is ${sizeBytes < wholeBytes ? 'cut short' : 'too long'}`,
      })
    const senders = await listSenders(deps.db)
    const signed = await checkSigned(head, senders, { createdAt: manifest.created_at, now: deps.clock.now() })
    const sender = 'by' in signed ? senders.find(one => one.fingerprints.includes(signed.by)) : undefined
    const sha256 = digestOf(head.list)
    return { bundle, sha256, signed, sender, ...(await sequenceOf(deps, sender, bundle, sha256)) }
  } catch (error) {
    await bundle.close()
    throw error
  }
}

/**
 * Refuses what must not be taken in.
 * @param allowOlder  an admin says that an older bundle may come
 * @throws bundle_refused, bundle_unknown_sender, bundle_other_site, bundle_older
 */
export function needAcceptable(
  { bundle: { manifest }, signed, sender, sequence }: Looked,
  { file, allowOlder }: { readonly file: string; readonly allowOlder: boolean },
): Sender {
  if ('why' in signed) return fail('bundle_refused', { file, why: signed.why })
  if (sender === undefined)
    return fail('bundle_unknown_sender', {
      file,
      fingerprints: 'unknown' in signed ? signed.unknown.map(printFingerprint).join(' and ') : 'an unknown key',
    })
  if (sender.site !== null && sender.site !== manifest.site)
    fail('bundle_other_site', { file, site: manifest.site, sender: sender.name, here: sender.site })
  if (sequence === 'older' && !allowOlder)
    fail('bundle_older', { file, number: manifest.number, last: sender.last_number, sender: sender.name })
  return sender
}
