import { printRef, type Iso, type PackageRef, type Sha256 } from '../core/identity.ts'
import type { Decision, Event, Manifest, PackageFile, State } from '../core/manifest.ts'
import { isServed, receivedSha256, transition } from '../core/manifest.ts'
import { keepBooks } from '../core/review.ts'
import { worst, type Finding } from '../core/findings.ts'
import type { Report } from '../core/report.ts'
import { fail } from '../core/errors.ts'
import type { Db, Tx } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import type { Pool } from '../files/pool.ts'
import type { SpooledFile } from '../files/spool.ts'
import { isoNow, type Clock } from '../lib/clock.ts'
import { failpoint } from '../lib/failpoint.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'
import type { Audit, AuditFact } from '../record/audit.ts'
import type { Notices } from '../outbound/notices.ts'
import type { Events } from '../record/events.ts'
import {
  deleteManifest,
  findManifest,
  findRival,
  insertManifest,
  isFrozen,
  lockManifest,
  lockOutRivals,
  markDirty,
  refreshArtifact,
  updateManifest,
  whereBlobBelongs,
} from './store.ts'

/** Who did it and from where, for the audit line. */
export interface Actor {
  readonly name: string
  readonly ip?: string
}

/**
 * What a review makes of a package: the whole manifest as it is to be, and the line for the audit log; none where only
 * scores moved.
 */
export interface Judgement {
  readonly after: Manifest
  readonly fact?: Pick<AuditFact, 'action' | 'result' | 'detail'>
}

/** Everything that can alter a package's state. */
export type Change =
  /** A package that came through the gate, in the state the verdict gave it. */
  | { readonly kind: 'admit'; readonly manifest: Manifest; readonly file: SpooledFile }
  /**
   * A published package is published in another distribution, too: the same bytes, what the gate said, what people
   * decided.
   */
  | { readonly kind: 'copy'; readonly from: PackageRef; readonly to: PackageRef }
  /** A person, or a retroactive mechanism, moved it. */
  | {
      readonly kind: 'event'
      readonly ref: PackageRef
      readonly event: Event
      readonly decision?: Decision
      readonly why: string
    }
  /** It was scanned again. The verdict may have moved it. */
  | {
      readonly kind: 'rescan'
      readonly ref: PackageRef
      readonly reports: readonly Report[]
      readonly findings: readonly Finding[]
      readonly event?: Event
    }
  /**
   * A decision, a new scan, an end of an acceptance. Worked out from the row while it is locked, so that of two at the
   * same moment the second sees what the first did; undefined changes nothing.
   */
  | {
      readonly kind: 'review'
      readonly ref: PackageRef
      readonly judge: (before: Manifest, now: Iso) => Judgement | undefined
    }
  /**
   * `unless` is asked while the row is locked: what it was found by may be different by now. True leaves it where it
   * is.
   */
  | {
      readonly kind: 'delete'
      readonly ref: PackageRef
      readonly why: string
      readonly unless?: (tx: Tx) => Promise<boolean>
    }

export interface Changed {
  /**
   * `already`: nothing was changed; the same bytes were admitted before, or a review or an `unless` left everything as
   * it is.
   */
  readonly outcome: 'created' | 'already' | 'changed' | 'deleted'
  readonly manifest: Manifest
  /**
   * Resolves true when the published tree says what the database says; false after `timeoutMs`, a failed publication,
   * or while the distribution is rolled back.
   */
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
  /** Puts the bytes where the rows say they belong; called by the outbox for `blob:<sha256>`. */
  settleBlob(digest: Sha256): Promise<void>
}

export interface CatalogDeps {
  readonly db: Db
  readonly outbox: Outbox
  readonly pool: Pool
  readonly audit: Audit
  readonly events: Events
  readonly clock: Clock
  /** Who tells people; without it nobody is told. */
  readonly notices?: Pick<Notices, 'oweMove'>
}

/** Contents follow the packages at their own pace: they are large and change with every package. */
const CONTENTS_DELAY_MS = 30_000
/** Uploads that arrive within this time share a publication even when none is running. */
const COALESCE_MS = 25

/** `isQuiet`: only scores moved, which nobody is told of. */
interface Written {
  readonly outcome: Changed['outcome']
  readonly manifest: Manifest
  readonly ask?: number
  readonly isQuiet?: boolean
}

/** Owes everything that must follow from `before` becoming `after`, in the same transaction. */
async function oweEffects(
  tx: Tx,
  outbox: Outbox,
  before: Manifest | undefined,
  after: Manifest | undefined,
): Promise<number | undefined> {
  const { ref, files } = (after ?? before) as Manifest
  await outbox.owe(tx, `manifest:${JSON.stringify(ref)}`)
  if (before !== undefined) for (const { blob } of files) await outbox.owe(tx, `blob:${blob.sha256}`)
  await refreshArtifact(tx, ref)
  const wasServed = before !== undefined && isServed(before.state)
  if (!wasServed && !(after !== undefined && isServed(after.state))) return undefined
  if (wasServed && after !== undefined && isServed(after.state)) return undefined
  await markDirty(tx, ref.codename, ref.name)
  await outbox.owe(tx, `contents:${ref.codename}`, { delayMs: CONTENTS_DELAY_MS })
  return outbox.owe(tx, `publish:${ref.codename}`, { delayMs: COALESCE_MS })
}

const AUDIT_OF_EVENT: Record<Event, AuditFact['action']> = {
  approve: 'SECURITY_DECISION',
  reject: 'SECURITY_DECISION',
  quarantine: 'QUARANTINE',
  hold: 'RESCAN',
}
const RESULT_OF_STATE: Record<State, AuditFact['result']> = {
  published: 'SUCCESS',
  pending_review: 'WARNING',
  quarantined: 'FAILURE',
  rejected: 'FAILURE',
}

const aboutWhom = (
  ref: PackageRef,
  actor: Actor,
): Pick<AuditFact, 'user' | 'package' | 'version' | 'distribution' | 'ip'> => ({
  user: actor.name,
  package: ref.name,
  version: ref.version,
  distribution: ref.codename,
  ...(actor.ip === undefined ? {} : { ip: actor.ip }),
})

const printSigned = ({ signed, blob }: PackageFile): string =>
  signed === undefined ? '' : `, signed with ${signed.key}, now SHA-256 ${blob.sha256}`

const entersTree = (outcome: Changed['outcome'], { state }: Manifest): boolean =>
  outcome !== 'deleted' && isServed(state)

function auditOf(
  change: Exclude<Change, { kind: 'review' }>,
  before: Manifest | undefined,
  after: Manifest | undefined,
  actor: Actor,
): AuditFact {
  const { ref, files } = (after ?? before) as Manifest
  const [file] = files
  const about = aboutWhom(ref, actor)
  const moved =
    before === undefined || after === undefined || before.state === after.state
      ? ''
      : ` ${before.state} → ${after.state}.`
  switch (change.kind) {
    case 'admit':
      return {
        ...about,
        action: change.manifest.from === 'upload' ? 'UPLOAD' : 'IMPORT',
        result: RESULT_OF_STATE[change.manifest.state],
        detail: `${file.path}, SHA-256 ${receivedSha256(file)}${printSigned(file)}: ${change.manifest.state}.`,
      }
    case 'copy':
      return {
        ...about,
        action: 'PROMOTE',
        result: 'SUCCESS',
        detail: `${ref.arch}, from ${change.from.codename}: the same bytes, SHA-256 ${file.blob.sha256}.`,
      }
    case 'event':
      return { ...about, action: AUDIT_OF_EVENT[change.event], result: 'SUCCESS', detail: `${change.why}${moved}` }
    case 'rescan':
      return {
        ...about,
        action: 'RESCAN',
        result: 'SUCCESS',
        detail: `${change.findings.length} ${change.findings.length === 1 ? 'finding' : 'findings'}.${moved}`,
      }
    case 'delete':
      return {
        ...about,
        action: 'DELETE',
        result: 'SUCCESS',
        detail: `${ref.arch}, was ${before?.state ?? ''}. ${change.why}`.trim(),
      }
  }
}

function apply(
  change: Exclude<Change, { kind: 'admit' | 'copy' | 'review' | 'delete' }>,
  before: Manifest,
  now: string,
): Manifest {
  const state = change.event === undefined ? before.state : transition(before.state, change.event)
  if (change.kind === 'event')
    return {
      ...before,
      state,
      changed_at: now,
      ...(change.decision === undefined ? {} : { decision: change.decision }),
    }
  const severity = worst(change.findings)
  const { worst: _, ...rest } = before
  return {
    ...rest,
    state,
    changed_at: now,
    reports: change.reports,
    findings: change.findings,
    ...(severity === undefined ? {} : { worst: severity }),
  }
}

function refuseOtherBytes(known: Manifest, incoming: Manifest): void {
  // one file signed twice by this repository is one file
  if (
    known.files[0].blob.sha256 === incoming.files[0].blob.sha256 ||
    receivedSha256(known.files[0]) === receivedSha256(incoming.files[0])
  )
    return
  fail('duplicate_conflict', {
    ref: printRef(known.ref),
    incoming_sha256: receivedSha256(incoming.files[0]),
    existing_sha256: receivedSha256(known.files[0]),
  })
}

/** The one door, over its tables, the pool and the outbox. */
export function createCatalog({ db, outbox, pool, audit, events, clock, notices }: CatalogDeps): Catalog {
  // between "the bytes are in the pool" and "a row needs them" nobody may tidy them away
  const blobLock = createKeyedLock()

  /**
   * Bytes leave quarantine before the commit that needs them there. Should that never come, this debt takes them back.
   */
  async function oweWayBack(digest: Sha256): Promise<void> {
    if ((await pool.has(digest)) === 'quarantine') await outbox.owe(db, `blob:${digest}`)
  }

  async function commit(
    fact: AuditFact | undefined,
    before: Manifest | undefined,
    after: Manifest | undefined,
    tx: Tx,
  ): Promise<number | undefined> {
    if (fact !== undefined) await audit.owe(tx, fact)
    // what a person put into quarantine is no news of the gate's
    if (fact?.action !== 'QUARANTINE') await notices?.oweMove(tx, before, after)
    const ask = await oweEffects(tx, outbox, before, after)
    failpoint('catalog:before-commit')
    return ask
  }

  /**
   * Writes a row that is new. @returns `already` where another request was faster with the same bytes. @throws
   * duplicate_conflict
   */
  async function insert(
    change: Change & { kind: 'admit' | 'copy' },
    manifest: Manifest,
    actor: Actor,
  ): Promise<Written> {
    const written = await db.tx<Written | undefined>(async tx => {
      const rival = await lockOutRivals(tx, manifest.ref)
      if (rival !== undefined) refuseOtherBytes(rival, manifest)
      if (!(await insertManifest(tx, manifest))) {
        const other = await lockManifest(tx, manifest.ref)
        if (other === undefined) return undefined
        refuseOtherBytes(other, manifest)
        return { outcome: 'already', manifest: other }
      }
      const ask = await commit(auditOf(change, undefined, manifest, actor), undefined, manifest, tx)
      return { outcome: 'created', manifest, ...(ask === undefined ? {} : { ask }) }
    })
    // the other one was deleted between the two looks, so its place is free now
    return written ?? insert(change, manifest, actor)
  }

  async function copy(change: Change & { kind: 'copy' }, actor: Actor): Promise<Written> {
    const missing = (): never => fail('version_not_found', { name: change.from.name, version: change.from.version })
    const seen = (await findManifest(db, change.from)) ?? missing()
    return blobLock.run(seen.files[0].blob.sha256, async () => {
      const source = (await findManifest(db, change.from)) ?? missing()
      if (!isServed(source.state)) fail('not_promotable', { ref: printRef(source.ref), state: source.state })
      const manifest: Manifest = { ...source, ref: change.to, changed_at: isoNow(clock) }
      const known = await findManifest(db, change.to)
      if (known === undefined) return insert(change, manifest, actor)
      refuseOtherBytes(known, manifest)
      return { outcome: 'already', manifest: known }
    })
  }

  async function admit(change: Change & { kind: 'admit' }, actor: Actor): Promise<Written> {
    const { manifest, file } = change
    return blobLock.run(manifest.files[0].blob.sha256, async () => {
      const known = await findManifest(db, manifest.ref)
      if (known !== undefined) {
        refuseOtherBytes(known, manifest)
        return { outcome: 'already', manifest: known }
      }
      const rival = await findRival(db, manifest.ref)
      if (rival !== undefined) refuseOtherBytes(rival, manifest)
      if (manifest.state === 'published' || manifest.state === 'pending_review') {
        await oweWayBack(manifest.files[0].blob.sha256)
        await pool.add(file)
      } else if ((await whereBlobBelongs(db, manifest.files[0].blob.sha256)) !== 'pool') await pool.quarantine(file)
      return insert(change, manifest, actor)
    })
  }

  /** What becomes of a package, and its audit line; undefined when a review changes nothing. */
  function work(
    change: Exclude<Change, { kind: 'admit' | 'copy' }>,
    before: Manifest,
    actor: Actor,
  ): { readonly after: Manifest | undefined; readonly fact?: AuditFact } | undefined {
    if (change.kind === 'review') {
      const judged = change.judge(before, isoNow(clock))
      return (
        judged && {
          after: keepBooks(before, judged.after),
          ...(judged.fact === undefined ? {} : { fact: { ...aboutWhom(before.ref, actor), ...judged.fact } }),
        }
      )
    }
    const after = change.kind === 'delete' ? undefined : keepBooks(before, apply(change, before, isoNow(clock)))
    return { after, fact: auditOf(change, before, after, actor) }
  }

  async function alter(change: Exclude<Change, { kind: 'admit' | 'copy' }>, actor: Actor): Promise<Written> {
    const known =
      (await findManifest(db, change.ref)) ??
      fail('version_not_found', { name: change.ref.name, version: change.ref.version })
    return blobLock.run(known.files[0].blob.sha256, async () => {
      if (change.kind !== 'delete') await oweWayBack(known.files[0].blob.sha256)
      return db.tx<Written>(tx => write(change, actor, tx))
    })
  }

  /** What an event, a review or a deletion writes. */
  async function write(change: Exclude<Change, { kind: 'admit' | 'copy' }>, actor: Actor, tx: Tx): Promise<Written> {
    const before =
      (await lockManifest(tx, change.ref)) ??
      fail('version_not_found', { name: change.ref.name, version: change.ref.version })
    if (change.kind === 'delete' && (await change.unless?.(tx)) === true)
      return { outcome: 'already', manifest: before }
    const done = work(change, before, actor)
    if (done === undefined) return { outcome: 'already', manifest: before }
    const { after, fact } = done
    if (after === undefined) await deleteManifest(tx, change.ref)
    else await updateManifest(tx, after)
    // out of quarantine before the commit: an index must never name bytes that are not in the pool
    if (after !== undefined && isServed(after.state) && !isServed(before.state))
      await pool.release(before.files[0].blob.sha256)
    const ask = await commit(fact, before, after, tx)
    return {
      outcome: after === undefined ? 'deleted' : 'changed',
      manifest: after ?? before,
      isQuiet: fact === undefined,
      ...(ask === undefined ? {} : { ask }),
    }
  }

  return {
    find: ref => findManifest(db, ref),
    async change(change, actor) {
      const {
        outcome,
        manifest,
        ask,
        isQuiet = false,
      } = await (change.kind === 'admit'
        ? admit(change, actor)
        : change.kind === 'copy'
          ? copy(change, actor)
          : alter(change, actor))
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
            !(entersTree(outcome, manifest) && (await isFrozen(db, manifest.ref.codename)))),
      }
    },
    settleBlob: digest =>
      blobLock.run(digest, async () => {
        const place = await whereBlobBelongs(db, digest)
        if (place === 'nowhere') await pool.remove(digest)
        else if (place === 'quarantine') await pool.confine(digest)
        else await pool.release(digest)
      }),
  }
}
