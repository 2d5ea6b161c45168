import { fail } from '../core/errors.ts'
import { printRef } from '../core/identity.ts'
import type { Distribution } from '../core/repository.ts'
import { differentFile, isServed, type Manifest } from '../core/manifest.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import type { Db, Tx } from '../db/db.ts'
import type { HoldDistribution } from '../db/distribution-lock.ts'
import { isoNow, type Clock } from '../lib/clock.ts'
import type { AuditFact } from '../record/audit.ts'
import { admitted, copied } from './audit-facts.ts'
import type { Blobs } from './blobs.ts'
import type { Actor, Admit, Copy, Written } from './change.ts'
import {
  findManifest,
  findRival,
  insertManifest,
  lockManifest,
  lockOutOtherBytes,
  lockOutRivals,
} from './queries/store.ts'

export interface AdmissionDeps {
  readonly db: Db
  readonly blobs: Blobs
  readonly clock: Clock
  /** Keeps the repository from being changed or removed until the row is written. */
  readonly hold: HoldDistribution
  /** Writes the audit line and what is owed. @returns the publication that was asked for */
  readonly record: (
    tx: Tx,
    fact: AuditFact,
    step: { readonly before: undefined; readonly after: Manifest },
  ) => Promise<number | undefined>
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

/** Adds versions: first all their bytes, then the row, in one transaction with what it owes. */
export function createAdmission({ db, blobs, clock, hold, record }: AdmissionDeps): Admission {
  /** @returns `already` when another request added the same files first. @throws duplicate_conflict */
  async function insert(manifest: Manifest, fact: AuditFact): Promise<Written> {
    const written = await db.tx<Written | undefined>(async tx => {
      mustFit(await hold(tx, manifest.ref.codename), manifest)
      const rival = await lockOutRivals(tx, manifest.ref)
      if (rival !== undefined) refuseOtherFiles(rival, manifest)
      const clash = manifest.kind === 'source' ? await lockOutOtherBytes(tx, manifest) : undefined
      if (clash !== undefined) fail('file_conflict', { ...clash, ref: printRef(clash.ref) })
      if (!(await insertManifest(tx, manifest))) {
        const other = await lockManifest(tx, manifest.ref)
        if (other === undefined) return undefined
        refuseOtherFiles(other, manifest)
        return { outcome: 'already', manifest: other }
      }
      const ask = await record(tx, fact, { before: undefined, after: manifest })
      return { outcome: 'created', manifest, ...(ask === undefined ? {} : { ask }) }
    })
    // the other one was deleted between the two looks, so the place is free now
    return written ?? insert(manifest, fact)
  }

  return {
    admit: (change, actor) =>
      blobs.hold(change.manifest.files, async () => {
        const { manifest, files } = change
        const known = await findManifest(db, ALL_SEEING, manifest.ref)
        if (known !== undefined) {
          refuseOtherFiles(known, manifest)
          return { outcome: 'already', manifest: known }
        }
        const rival = await findRival(db, manifest.ref)
        if (rival !== undefined) refuseOtherFiles(rival, manifest)
        await blobs.oweWayBack(manifest.files)
        await blobs.place(files, manifest.state)
        return insert(manifest, admitted(change, actor))
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
        if (known === undefined) return insert(manifest, copied(change, manifest, actor))
        refuseOtherFiles(known, manifest)
        return { outcome: 'already', manifest: known }
      })
    },
  }
}
