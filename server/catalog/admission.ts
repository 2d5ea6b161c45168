import { fail, isRefusal } from '../core/errors.ts'
import { printRef } from '../core/identity.ts'
import type { Distribution } from '../core/repository.ts'
import { differentFile, isServed, type Manifest } from '../core/manifest.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { isUnavailable } from '../db/database-unavailable.ts'
import type { Db, Tx } from '../db/db.ts'
import type { HoldDistribution } from '../db/distribution-lock.ts'
import { isoNow, type Clock } from '../lib/clock.ts'
import { createGroups, shareReads, type Outcome } from '../lib/groups.ts'
import type { AuditFact } from '../record/audit.ts'
import { admitted, copied } from './audit-facts.ts'
import type { Blobs } from './blobs.ts'
import type { Actor, Admit, Copy, Written } from './change.ts'
import type { Step } from './effects.ts'
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
  ) => Promise<readonly (number | undefined)[]>
}

/**
 * How new versions come into a repository.
 * @throws duplicate_conflict, distribution_not_found, wrong_arch, bad_component, from both
 */
export interface Admission {
  admit(change: Admit, actor: Actor): Promise<Written>
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
function mustFit({ codename, archs, neutral, components }: Distribution, { ref, kind, component }: Manifest): void {
  const takes = [...archs, ...neutral]
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

/** A version whose bytes are in their place. */
interface Arrival {
  readonly manifest: Manifest
  readonly fact: AuditFact
  readonly publishWithinMs?: number | undefined
}

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
  async function insertIn(tx: Tx, arrivals: readonly Arrival[]): Promise<readonly Outcome<Written | undefined>[]> {
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
    const asks = steps.length === 0 ? [] : await record(tx, steps)
    for (const [n, { arrival, manifest }] of created.entries()) {
      const ask = asks[n]
      outcomes.set(arrival, { value: { outcome: 'created', manifest, ...(ask === undefined ? {} : { ask }) } })
    }
    return arrivals.map(arrival => outcomes.get(arrival) ?? { value: undefined })
  }

  const groups = createGroups<Arrival, Written | undefined>({
    most: GROUP_MOST,
    // of two with a place in common, the second must see what the first wrote
    keysOf: ({ manifest }) => [printRef(manifest.ref), ...placesOf(manifest)],
    work: arrivals => db.tx(tx => insertIn(tx, arrivals)),
    concernsAll: isUnavailable,
  })
  const findStanding = shareReads(async (asked: readonly Manifest[]): Promise<readonly Standing[]> => {
    const known = await findManifests(
      db,
      asked.map(({ ref }) => ref),
    )
    const rivals = await findRivals(db, asked)
    return asked.map(({ ref }) => ({ known: known.get(printRef(ref)), rival: rivals.get(printRef(ref)) }))
  }, isUnavailable)

  const insert = async (arrival: Arrival): Promise<Written> => (await groups.join(arrival)) ?? insert(arrival)

  return {
    admit: (change, actor) =>
      blobs.hold(change.manifest.files, async () => {
        const { manifest, files } = change
        const { known, rival } = await findStanding(manifest)
        if (known !== undefined) {
          refuseOtherFiles(known, manifest)
          return { outcome: 'already', manifest: known }
        }
        if (rival !== undefined) refuseOtherFiles(rival, manifest)
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
