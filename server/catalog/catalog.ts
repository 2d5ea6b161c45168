import { fail } from '../core/errors.ts'
import {
  printRef,
  type Codename,
  type FormatId,
  type PackageName,
  type PackageRef,
  type Sha256,
} from '../core/identity.ts'
import { isServed, type Manifest } from '../core/manifest.ts'
import type { Tag } from '../core/tag.ts'
import { ALL_SEEING, type Viewer } from '../core/viewer.ts'
import { isUnavailable } from '../db/database-unavailable.ts'
import type { BlobHolds } from '../db/blob-holds.ts'
import type { Db, Tx } from '../db/db.ts'
import type { HoldDistribution } from '../db/distribution-lock.ts'
import type { Outbox } from '../db/outbox.ts'
import type { Pool } from '../files/pool.ts'
import { isoNow, type Clock } from '../lib/clock.ts'
import { failpoint } from '../lib/failpoint.ts'
import { shareReads, type Outcome } from '../lib/groups.ts'
import type { Notices } from '../outbound/notices.ts'
import type { Audit, AuditFact } from '../record/audit.ts'
import type { Events } from '../record/events.ts'
import { createAdmission } from './admission.ts'
import { deleted } from './audit-facts.ts'
import { createBlobs, type Blobs } from './blobs.ts'
import type { Actor, Admit, Change, Changed, Delete, Review, Within, Written } from './change.ts'
import { oweEffects, type Bundling, type Step } from './effects.ts'
import { readTags } from './queries/tags.ts'
import { deleteManifest, findManifest, findManifests, listFrozen, lockManifest } from './queries/store.ts'
import { createReviews } from './reviews.ts'
import { createTags } from './tags.ts'

/** The only writer of packages: upload, import, review, rescan, quarantine, promote, tag and delete all end here. */
export interface Catalog {
  /**
   * One transaction: the row, the audit line, and what is owed to the files. The caller has checked what the actor may
   * see and change.
   * @throws duplicate_conflict when the identity exists with other bytes, version_not_found, tag_not_found,
   *   not_promotable
   */
  change(change: Change, actor: Actor): Promise<Changed>
  /**
   * As `change` for many versions that came through the gate together, in one transaction with what `within` writes:
   * when this resolves, all of them are durable.
   * @returns an outcome for each, in their order: a refusal concerns one. @throws what concerns all
   */
  changeAll(changes: readonly Admit[], actor: Actor, within: Within): Promise<readonly Outcome<Changed>[]>
  /** The same for different versions that are decided on together. */
  reviewAll(changes: readonly Review[], actor: Actor, within: Within): Promise<readonly Outcome<Changed>[]>
  find(viewer: Viewer, ref: PackageRef): Promise<Manifest | undefined>
  /** As `find` for eyes that see everything; those who ask at the same time share a question to the database. */
  findKnown(ref: PackageRef): Promise<Manifest | undefined>
  /** Those that are there, by `printRef`. */
  findAll(refs: readonly PackageRef[]): Promise<ReadonlyMap<string, Manifest>>
  /** The tags of one package, in the order of their names. */
  tags(viewer: Viewer, of: PackageName): Promise<readonly Tag[]>
  /** Moves the bytes to where the rows say they belong. The outbox calls it for `blob:<sha256>`. */
  settleBlob(digest: Sha256): Promise<void>
  /** Runs `work` while nothing moves or removes these bytes: for blobs that come before the version that has them. */
  holdBlobs: Blobs['hold']
}

export interface CatalogDeps {
  readonly db: Db
  readonly outbox: Outbox
  readonly pool: Pool
  readonly audit: Audit
  readonly events: Events
  readonly clock: Clock
  /** Whether a format has signed trees; without them no publication is owed. */
  readonly hasTree: (format: FormatId) => boolean
  readonly hold: HoldDistribution
  /** Absent: no other process works on the pool. */
  readonly holds?: BlobHolds | undefined
  /** Sends notifications; absent: none are sent. */
  readonly notices?: Pick<Notices, 'oweMove'>
}

/** A change of a version with its audit line, if it has one. */
interface Recorded extends Step {
  readonly fact: AuditFact | undefined
}

const entersTree = (outcome: Changed['outcome'], { state }: Manifest): boolean =>
  outcome !== 'deleted' && isServed(state)

/** Makes the catalogue over its tables, the pool and the outbox. */
export function createCatalog(deps: CatalogDeps): Catalog {
  const { db, outbox, audit, events, clock, notices } = deps
  const blobs = createBlobs(deps)
  const tags = createTags(deps)
  const isFrozen = shareReads(async (codenames: readonly Codename[]) => {
    const frozen = new Set(await listFrozen(db, codenames))
    return codenames.map(codename => frozen.has(codename))
  }, isUnavailable)
  const admission = createAdmission({ db, blobs, clock, hold: deps.hold, record: recordAll })
  const reviews = createReviews({ db, blobs, clock, record: recordAll })

  /** What every change of a version entails, in its transaction. */
  async function recordAll(
    tx: Tx,
    steps: readonly Recorded[],
    how?: Bundling,
  ): Promise<readonly (number | undefined)[]> {
    await audit.oweAll(
      tx,
      steps.flatMap(({ fact }) => fact ?? []),
    )
    // only the gate's own quarantine is notified, not that of a person
    for (const { fact, before, after } of steps)
      if (fact?.action !== 'QUARANTINE') await notices?.oweMove(tx, before, after)
    const asks = await oweEffects(tx, deps, steps, how)
    failpoint('catalog:before-commit')
    return asks
  }

  async function record(tx: Tx, fact: AuditFact | undefined, step: Step): Promise<number | undefined> {
    const [ask] = await recordAll(tx, [{ fact, ...step }])
    return ask
  }

  async function lock(tx: Tx, ref: PackageRef): Promise<Manifest> {
    return (await lockManifest(tx, ref)) ?? fail('version_not_found', { name: ref.name, version: ref.version })
  }

  async function remove(change: Delete, actor: Actor, tx: Tx): Promise<Written> {
    await tags.lock(tx, change.ref)
    const before = await lock(tx, change.ref)
    if ((await change.unless?.(tx)) === true) return { outcome: 'already', manifest: before }
    const id = await deleteManifest(tx, change.ref)
    if (id === undefined) throw new Error('a locked row is gone')
    await tags.removeWith(tx, change.ref, actor)
    const ask = await record(tx, deleted(change, before, actor), { before, after: undefined, id })
    return { outcome: 'deleted', manifest: before, ...(ask === undefined ? {} : { ask }) }
  }

  async function erase(change: Delete, actor: Actor): Promise<Written> {
    const { ref } = change
    const known =
      (await findManifest(db, ALL_SEEING, ref)) ?? fail('version_not_found', { name: ref.name, version: ref.version })
    return blobs.hold(known.files, () => db.tx(tx => remove(change, actor, tx)))
  }

  /** What is done once a change is committed. */
  function tell({ outcome, manifest, ask, isQuiet = false }: Written, actor: Actor): Changed {
    if (outcome !== 'already') {
      failpoint('catalog:after-commit')
      outbox.nudge()
      const data = { ...manifest.ref, state: outcome === 'deleted' ? 'deleted' : manifest.state, by: actor.name }
      if (!isQuiet) events.emit({ type: 'package.state', at: isoNow(clock), data })
    }
    return {
      outcome,
      manifest,
      settled: async timeoutMs =>
        ask === undefined ||
        ((await outbox.settled(`publish:${manifest.ref.codename}`, ask, timeoutMs)) &&
          !(entersTree(outcome, manifest) && (await isFrozen(manifest.ref.codename)))),
    }
  }

  function write(change: Change, actor: Actor): Promise<Written> {
    switch (change.kind) {
      case 'admit':
        return admission.admit(change, actor)
      case 'copy':
        return admission.copy(change, actor)
      case 'tag':
        return tags.set(change, actor)
      case 'review':
        return reviews.review(change, actor)
      case 'delete':
        return erase(change, actor)
    }
  }

  const tellAll = (outcomes: readonly Outcome<Written>[], actor: Actor): readonly Outcome<Changed>[] =>
    outcomes.map(outcome => ('error' in outcome ? outcome : { value: tell(outcome.value, actor) }))

  return {
    find: (viewer, ref) => findManifest(db, viewer, ref),
    findKnown: shareReads(async (refs: readonly PackageRef[]) => {
      const found = await findManifests(db, refs)
      return refs.map(ref => found.get(printRef(ref)))
    }, isUnavailable),
    findAll: refs => findManifests(db, refs),
    tags: (viewer, of) => readTags(db, viewer, of),
    async change(change, actor) {
      return tell(await write(change, actor), actor)
    },
    async changeAll(changes, actor, within) {
      return tellAll(await admission.admitAll(changes, actor, within), actor)
    },
    async reviewAll(changes, actor, within) {
      return tellAll(await reviews.reviewAll(changes, actor, within), actor)
    },
    settleBlob: blobs.settle,
    holdBlobs: blobs.hold,
  }
}
