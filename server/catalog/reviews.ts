import { fail, isRefusal } from '../core/errors.ts'
import { printRef, type PackageRef } from '../core/identity.ts'
import { isServed, type Manifest } from '../core/manifest.ts'
import { keepBooks } from '../core/review.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import type { Db, Tx } from '../db/db.ts'
import { isoNow, type Clock } from '../lib/clock.ts'
import type { Outcome } from '../lib/groups.ts'
import type { AuditFact } from '../record/audit.ts'
import { judged } from './audit-facts.ts'
import type { Blobs } from './blobs.ts'
import type { Actor, Review, Within, Written } from './change.ts'
import type { Step } from './effects.ts'
import { findManifest, findManifests, lockManifest, lockManifests, updateManifest } from './queries/store.ts'

export interface ReviewDeps {
  readonly db: Db
  readonly blobs: Blobs
  readonly clock: Clock
  /** Writes the audit lines and what is owed. @returns the publications that were asked for, in the same order */
  readonly record: (
    tx: Tx,
    steps: readonly (Step & { readonly fact: AuditFact | undefined })[],
  ) => Promise<readonly (number | undefined)[]>
}

/** How versions that are here get another state, other findings or decisions. */
export interface Reviews {
  /** @throws version_not_found, and what `judge` does */
  review(change: Review, actor: Actor): Promise<Written>
  /**
   * Different versions in one transaction with what `within` writes: their rows are locked together, then each is
   * judged. What `judge` refuses stays as it is and does not hold the others up.
   * @throws what concerns all, and what `within` does: then nothing was changed
   */
  reviewAll(changes: readonly Review[], actor: Actor, within: Within): Promise<readonly Outcome<Written>[]>
}

/** A version whose row is locked and written, before it is recorded. */
interface Moved extends Step {
  readonly before: Manifest
  readonly after: Manifest
  readonly fact: AuditFact | undefined
}

const missing = ({ name, version }: Pick<PackageRef, 'name' | 'version'>): never =>
  fail('version_not_found', { name, version })

export function createReviews({ db, blobs, clock, record }: ReviewDeps): Reviews {
  /** @returns undefined where the judgement changes nothing */
  async function move(tx: Tx, change: Review, before: Manifest, actor: Actor): Promise<Moved | undefined> {
    const judgement = change.judge(before, isoNow(clock))
    if (judgement === undefined) return undefined
    const after = keepBooks(before, judgement.after)
    const id = await updateManifest(tx, after)
    if (id === undefined) throw new Error('a locked row is gone')
    // out of quarantine before the commit: an index must never name bytes that are not in the pool
    if (isServed(after.state) && !isServed(before.state)) await blobs.release(before.files)
    const { publishWithinMs } = change
    return { before, after, id, fact: judged(judgement, before, actor), publishWithinMs }
  }

  const written = ({ after, fact }: Moved, ask: number | undefined): Written => ({
    outcome: 'changed',
    manifest: after,
    isQuiet: fact === undefined,
    ...(ask === undefined ? {} : { ask }),
  })

  async function moveAll(tx: Tx, changes: readonly Review[], actor: Actor): Promise<readonly Outcome<Written>[]> {
    const locked = await lockManifests(
      tx,
      changes.map(({ ref }) => ref),
    )
    const moved: Moved[] = []
    const settle: (() => Outcome<Written>)[] = []
    let asks: readonly (number | undefined)[] = []
    for (const change of changes) {
      try {
        const before = locked.get(printRef(change.ref)) ?? missing(change.ref)
        const one = await move(tx, change, before, actor)
        if (one === undefined) settle.push(() => ({ value: { outcome: 'already', manifest: before } }))
        else {
          const at = moved.push(one) - 1
          settle.push(() => ({ value: written(one, asks[at]) }))
        }
      } catch (error) {
        if (!isRefusal(error)) throw error
        settle.push(() => ({ error }))
      }
    }
    asks = moved.length === 0 ? [] : await record(tx, moved)
    return settle.map(outcome => outcome())
  }

  return {
    async review(change, actor) {
      const { ref } = change
      const known = (await findManifest(db, ALL_SEEING, ref)) ?? missing(ref)
      return blobs.hold(known.files, async () => {
        await blobs.oweWayBack(known.files)
        return db.tx(async tx => {
          const before = (await lockManifest(tx, ref)) ?? missing(ref)
          const one = await move(tx, change, before, actor)
          if (one === undefined) return { outcome: 'already', manifest: before }
          const [ask] = await record(tx, [one])
          return written(one, ask)
        })
      })
    },
    async reviewAll(changes, actor, within) {
      const known = await findManifests(
        db,
        changes.map(({ ref }) => ref),
      )
      const files = [...known.values()].flatMap(manifest => manifest.files)
      return blobs.hold(files, async () => {
        for (const manifest of known.values()) await blobs.oweWayBack(manifest.files)
        return db.tx(async tx => {
          const outcomes = await moveAll(tx, changes, actor)
          await within(tx, outcomes)
          return outcomes
        })
      })
    },
  }
}
