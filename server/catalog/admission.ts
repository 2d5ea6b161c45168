import { fail, isRefusal } from '../core/errors.ts'
import { printRef } from '../core/identity.ts'
import { isRegistry, type Distribution } from '../core/repository.ts'
import { differentFile, isServed, type Manifest } from '../core/manifest.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { isUnavailable } from '../db/database-unavailable.ts'
import type { Db, Tx } from '../db/db.ts'
import type { HoldDistribution } from '../db/distribution-lock.ts'
import { isoNow, type Clock } from '../lib/clock.ts'
import { apart, createGroups, shareReads, type Outcome } from '../lib/groups.ts'
import type { AuditFact } from '../record/audit.ts'
import { admitted, copied } from './audit-facts.ts'
import type { Blobs } from './blobs.ts'
import type { Actor, Admit, Copy, Within, Written } from './change.ts'
import type { Bundling, Step } from './effects.ts'
import { findRivals, lockOutClashes, placesOf, type Clash } from './queries/clashes.ts'
import { insertManifests } from './queries/insert.ts'
import { findManifest, findManifests, lockManifest } from './queries/store.ts'

export interface AdmissionDeps {
  readonly db: Db
  readonly blobs: Blobs
  readonly clock: Clock
  /** Keeps the repository from being changed or removed until the row is written. */
  readonly hold: HoldDistribution
  /** Writes the audit lines and what is owed. @returns the publications that were asked for, in the same order */
  readonly record: (
    tx: Tx,
    steps: readonly (Step & { readonly fact: AuditFact })[],
    how?: Bundling,
  ) => Promise<readonly (number | undefined)[]>
}

/**
 * How new versions come into a repository.
 * @throws duplicate_conflict, distribution_not_found, wrong_arch, bad_component, from both
 */
export interface Admission {
  admit(change: Admit, actor: Actor): Promise<Written>
  /**
   * Many at once: first all their bytes, then all rows in one transaction, in a further one those that share a place
   * with another of them. What is refused does not hold the others up.
   * @throws what concerns all, and what `within` does
   */
  admitAll(changes: readonly Admit[], actor: Actor, within: Within): Promise<readonly Outcome<Written>[]>
  /** @throws version_not_found, not_promotable */
  copy(change: Copy, actor: Actor): Promise<Written>
}

/** @throws duplicate_conflict when two versions of one identity have different files */
function refuseOtherFiles(known: Manifest, incoming: Pick<Manifest, 'files'>): void {
  const different = differentFile(known.files, incoming.files)
  if (different === undefined) return
  fail('duplicate_conflict', {
    ref: printRef(known.ref),
    incoming_sha256: different.incoming ?? 'none',
    existing_sha256: different.known ?? 'none',
  })
}

/** The repository may have been changed since the package was looked at. @throws wrong_arch, bad_component */
function mustFit(distribution: Distribution, { ref, kind, component }: Manifest): void {
  const { codename, archs, neutral, components } = distribution
  const takes = [...archs, ...neutral]
  // what a registry takes is for its format to say
  if (isRegistry(distribution)) return
  if (kind !== 'source' && !takes.includes(ref.arch))
    fail('wrong_arch', { codename, takes: takes.join(', '), is: ref.arch })
  if (component !== undefined && !components.includes(component))
    fail('bad_component', { codename, component, known: components.join(', ') })
}

/** The manifest in the component of the same name where the target has it, otherwise in its first one. */
function inComponent({ component, ...manifest }: Manifest, components: Copy['components']): Manifest {
  const name = component ?? components?.from
  return name !== undefined && components?.to.slice(1).includes(name) === true
    ? { ...manifest, component: name }
    : manifest
}

/** So many versions come in with one transaction at most. */
const GROUP_MOST = 100

/** As it is told before the end: a place that has just become free is taken in a moment. */
function known(outcome: Outcome<Written | undefined> | undefined, manifest: Manifest): Outcome<Written> {
  if (outcome !== undefined && 'error' in outcome) return outcome
  return { value: outcome?.value ?? { outcome: 'created', manifest } }
}

/** A version whose bytes are in their place. */
interface Arrival {
  readonly manifest: Manifest
  readonly fact: AuditFact
  readonly publishWithinMs?: number | undefined
}

const keysOfArrival = ({ manifest }: Arrival): readonly string[] => [printRef(manifest.ref), ...placesOf(manifest)]

/** What is there already: the same identity, and another one at the same address with other files. */
interface Standing {
  readonly known: Manifest | undefined
  readonly rival: Manifest | undefined
}

/** What stands in the way of a version, as it is said to its sender. @throws duplicate_conflict, file_conflict */
function refuseClash({ rival, file }: Clash, incoming: Pick<Manifest, 'ref' | 'files'>): void {
  if (rival !== undefined) refuseOtherFiles(rival, incoming)
  if (file !== undefined) fail('file_conflict', { ...file, ref: printRef(file.ref) })
}

/** What is not to be added: it is here already, or another one stands in its way. */
function standingOutcome({ known, rival }: Standing, manifest: Manifest): Written | undefined {
  if (known !== undefined) {
    refuseOtherFiles(known, manifest)
    return { outcome: 'already', manifest: known }
  }
  if (rival !== undefined) refuseOtherFiles(rival, manifest)
  return undefined
}

/** A refusal concerns one version; any other error ends the transaction. */
async function refusalOf(work: () => Promise<void> | void): Promise<{ readonly error: unknown } | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    if (isRefusal(error)) return { error }
    throw error
  }
}

/**
 * Adds versions: first all their bytes, then the rows, in one transaction with what they owe. Versions that arrive
 * while a transaction runs share the next one.
 */
export function createAdmission({ db, blobs, clock, hold, record }: AdmissionDeps): Admission {
  /** What may not come in, and why: the repository does not take it, or another version stands in its way. */
  async function refusedOf(tx: Tx, arrivals: readonly Arrival[]): Promise<Map<Arrival, Outcome<Written | undefined>>> {
    const outcomes = new Map<Arrival, Outcome<Written | undefined>>()
    const held = new Map<string, Promise<Distribution>>()
    for (const arrival of arrivals) {
      const { codename } = arrival.manifest.ref
      const holding = held.get(codename) ?? hold(tx, codename)
      held.set(codename, holding)
      const refused = await refusalOf(async () => mustFit(await holding, arrival.manifest))
      if (refused !== undefined) outcomes.set(arrival, refused)
    }
    const fitting = arrivals.filter(arrival => !outcomes.has(arrival))
    const clashes = await lockOutClashes(
      tx,
      fitting.map(({ manifest }) => manifest),
    )
    for (const arrival of fitting) {
      const clash = clashes.get(printRef(arrival.manifest.ref)) ?? {}
      const refused = await refusalOf(() => refuseClash(clash, arrival.manifest))
      if (refused !== undefined) outcomes.set(arrival, refused)
    }
    return outcomes
  }

  /** @returns undefined where the other one was deleted between two looks, so that the place is free now */
  async function foundInstead(tx: Tx, manifest: Manifest): Promise<Written | undefined> {
    const other = await lockManifest(tx, manifest.ref)
    if (other === undefined) return undefined
    refuseOtherFiles(other, manifest)
    return { outcome: 'already', manifest: other }
  }

  /** @returns `already` when another request added the same files first */
  async function insertIn(
    tx: Tx,
    arrivals: readonly Arrival[],
    how?: Bundling,
  ): Promise<readonly Outcome<Written | undefined>[]> {
    const outcomes = await refusedOf(tx, arrivals)
    const fitting = arrivals.filter(arrival => !outcomes.has(arrival))
    const rows = await insertManifests(
      tx,
      fitting.map(({ manifest }) => manifest),
    )
    const fresh = new Map(rows.map(({ id, manifest }) => [manifest, id]))
    const created = fitting.flatMap(arrival => {
      const id = fresh.get(arrival.manifest)
      return id === undefined ? [] : [{ ...arrival, arrival, id }]
    })
    for (const arrival of fitting.filter(({ manifest }) => !fresh.has(manifest))) {
      const refused = await refusalOf(async () => {
        outcomes.set(arrival, { value: await foundInstead(tx, arrival.manifest) })
      })
      if (refused !== undefined) outcomes.set(arrival, refused)
    }
    const steps = created.map(({ id, manifest: after, fact, publishWithinMs }) => ({
      ...{ id, fact, before: undefined, after },
      publishWithinMs,
    }))
    const asks = steps.length === 0 ? [] : await record(tx, steps, how)
    for (const [n, { arrival, manifest }] of created.entries()) {
      const ask = asks[n]
      outcomes.set(arrival, { value: { outcome: 'created', manifest, ...(ask === undefined ? {} : { ask }) } })
    }
    return arrivals.map(arrival => outcomes.get(arrival) ?? { value: undefined })
  }

  const groups = createGroups<Arrival, Written | undefined>({
    most: GROUP_MOST,
    // of two with a place in common, the second must see what the first wrote
    keysOf: keysOfArrival,
    work: arrivals => db.tx(tx => insertIn(tx, arrivals)),
    concernsAll: isUnavailable,
  })
  const standingOf = async (asked: readonly Manifest[]): Promise<readonly Standing[]> => {
    const known = await findManifests(
      db,
      asked.map(({ ref }) => ref),
    )
    const rivals = await findRivals(db, asked)
    return asked.map(({ ref }) => ({ known: known.get(printRef(ref)), rival: rivals.get(printRef(ref)) }))
  }
  const findStanding = shareReads(standingOf, isUnavailable)

  const insert = async (arrival: Arrival): Promise<Written> => (await groups.join(arrival)) ?? insert(arrival)

  /** The rows of a round, and in the same transaction how far the caller is. */
  async function insertRound(
    round: readonly Arrival[],
    within: (tx: Tx, done: readonly Outcome<Written | undefined>[]) => Promise<void>,
  ): Promise<readonly Outcome<Written | undefined>[]> {
    let isOurs = true
    try {
      return await db.tx(async tx => {
        const done = await insertIn(tx, round, { manifests: 'together' })
        isOurs = false
        await within(tx, done)
        isOurs = true
        return done
      })
    } catch (error) {
      if (!isOurs || round.length === 0 || isUnavailable(error)) throw error
      // one that cannot be added must not take the others with it
      const alone: Outcome<Written | undefined>[] = []
      for (const arrival of round)
        alone.push(
          await insert(arrival).then(
            value => ({ value }),
            (failure: unknown) => {
              if (isUnavailable(failure)) throw failure
              return { error: failure }
            },
          ),
        )
      await db.tx(tx => within(tx, alone))
      return alone
    }
  }

  async function admitAll(
    changes: readonly Admit[],
    actor: Actor,
    within: Within,
  ): Promise<readonly Outcome<Written>[]> {
    const standing = await standingOf(changes.map(({ manifest }) => manifest))
    const outcomes = new Map<Manifest, Outcome<Written | undefined>>()
    const arrivals: Arrival[] = []
    for (const [n, change] of changes.entries()) {
      const { manifest } = change
      const refused = await refusalOf(() => {
        const already = standingOutcome(standing[n] ?? { known: undefined, rival: undefined }, manifest)
        if (already === undefined)
          arrivals.push({ manifest, fact: admitted(change, actor), publishWithinMs: change.publishWithinMs })
        else outcomes.set(manifest, { value: already })
      })
      if (refused !== undefined) outcomes.set(manifest, refused)
    }
    const coming = changes.filter(({ manifest }) => !outcomes.has(manifest))
    for (const { manifest } of coming) await blobs.oweWayBack(manifest.files)
    await Promise.all(coming.map(({ manifest, files }) => blobs.place(files, manifest.state)))
    const rounds = apart(arrivals, keysOfArrival)
    for (const [n, round] of (rounds.length === 0 ? [[]] : rounds).entries()) {
      const note = (done: readonly Outcome<Written | undefined>[]): void => {
        for (const [at, { manifest }] of round.entries()) outcomes.set(manifest, done[at] ?? { value: undefined })
      }
      const isLast = n >= rounds.length - 1
      const done = await insertRound(round, async (tx, sofar) => {
        note(sofar)
        if (isLast)
          await within(
            tx,
            changes.map(({ manifest }) => known(outcomes.get(manifest), manifest)),
          )
      })
      note(done)
    }
    return Promise.all(
      changes.map(async ({ manifest }): Promise<Outcome<Written>> => {
        const outcome = outcomes.get(manifest) ?? { value: undefined }
        if ('error' in outcome) return outcome
        // the other one was deleted between two looks
        const arrival = outcome.value === undefined ? arrivals.find(one => one.manifest === manifest) : undefined
        if (arrival !== undefined) return { value: await insert(arrival) }
        return { value: outcome.value ?? { outcome: 'already', manifest } }
      }),
    )
  }

  return {
    admitAll: (changes, actor, within) =>
      blobs.hold(
        changes.flatMap(({ manifest }) => manifest.files),
        () => admitAll(changes, actor, within),
      ),
    admit: (change, actor) =>
      blobs.hold(change.manifest.files, async () => {
        const { manifest, files } = change
        const already = standingOutcome(await findStanding(manifest), manifest)
        if (already !== undefined) return already
        await blobs.oweWayBack(manifest.files)
        await blobs.place(files, manifest.state)
        return insert({ manifest, fact: admitted(change, actor), publishWithinMs: change.publishWithinMs })
      }),
    async copy(change, actor) {
      const { from, to } = change
      const missing = (): never => fail('version_not_found', { name: from.name, version: from.version })
      const seen = (await findManifest(db, ALL_SEEING, from)) ?? missing()
      return blobs.hold(seen.files, async () => {
        const source = (await findManifest(db, ALL_SEEING, from)) ?? missing()
        if (!isServed(source.state)) fail('not_promotable', { ref: printRef(source.ref), state: source.state })
        const manifest: Manifest = { ...inComponent(source, change.components), ref: to, changed_at: isoNow(clock) }
        const known = await findManifest(db, ALL_SEEING, to)
        if (known === undefined) return insert({ manifest, fact: copied(change, manifest, actor) })
        refuseOtherFiles(known, manifest)
        return { outcome: 'already', manifest: known }
      })
    },
  }
}
