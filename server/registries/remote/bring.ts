import { randomUUID } from 'node:crypto'
import type { Actor, Admit } from '../../catalog/change.ts'
import { fail } from '../../core/errors.ts'
import { isMalicious } from '../../core/findings.ts'
import { printRef, type PackageRef } from '../../core/identity.ts'
import { transition, type Decision, type Manifest } from '../../core/manifest.ts'
import type { Report } from '../../core/report.ts'
import type { Distribution } from '../../core/repository.ts'
import { together, type SpooledFile } from '../../files/spool.ts'
import { getFormat } from '../../formats/index.ts'
import { refuseUpstream } from '../../formats/upstream-files.ts'
import { isoNow } from '../../lib/clock.ts'
import { passGate } from '../../pipeline/gate.ts'
import { tellAdmitted } from '../admit.ts'
import { LOOKS_ALIKE, WAITS_AS_LOOKALIKE } from '../held.ts'
import type { Lookalikes } from '../owned.ts'
import type { RegistryDeps } from '../deps.ts'
import type { RemoteFile } from '../../core/remote-file.ts'
import { findWaiver, type StandingWaiver } from '../../catalog/queries/remote-versions.ts'
import { within, type Flights } from './flights.ts'
import { createRefusals } from './refusals.ts'
import type { Upstream } from './upstream.ts'

/** What is expected of a version that comes in. */
interface Expected {
  /** Why what came is not what its index says, in one sentence: it is refused. Its identity is compared anyway. */
  readonly complain?: (manifest: Manifest) => string | undefined
  /** Why a person looks at it although the gate lets it through, in one sentence. */
  readonly heldFor?: (manifest: Manifest) => string | undefined
}

/** A version that a client asks for and whose bytes are not here. */
export interface Wanted extends Expected {
  readonly ref: PackageRef
  /** The one that is inspected first. */
  readonly files: readonly [RemoteFile, ...RemoteFile[]]
}

/** The same where the protocol itself fetches it. */
export interface WantedOtherwise extends Expected {
  /** The architecture is known when the bytes are here. */
  readonly ref: Omit<PackageRef, 'arch'>
  /** All files of the version as one; what it throws reaches those who wait. */
  readonly fetch: (signal: AbortSignal) => Promise<SpooledFile>
}

/** Brings versions in from upstreams. */
export interface Bring {
  /**
   * Fetches a version and passes it through the gate, one flight each, whoever asks. It goes on when nobody waits. What
   * is no package by its digest is not fetched again for an hour.
   * @param patienceMs  how long the caller waits
   * @returns the version in the state that the gate gave it; undefined where that takes longer
   * @throws outbound_failed, outbound_refused, upstream_refused, and what the gate refuses
   */
  bring(
    registry: Distribution,
    wanted: Wanted | WantedOtherwise,
    by: { readonly actor: Actor; readonly patienceMs: number },
  ): Promise<Manifest | undefined>
}

export type BringDeps = Pick<
  RegistryDeps,
  'db' | 'repositories' | 'catalog' | 'gate' | 'settings' | 'metrics' | 'events' | 'clock' | 'log'
> & {
  readonly upstream: Upstream
  readonly flights: Flights
  readonly lookalikes: Lookalikes
}

/** No engine was silent, and every file was opened: a policy that blocks says nothing of that. */
const isWhole = ({ engines = [], contents }: Report): boolean =>
  engines.every(({ coverage }) => coverage === 'covered' || coverage === 'partial') &&
  (contents === undefined || (contents.unopened.length === 0 && contents.cut === undefined))

/** Nothing stands against it but its licence and findings of known vulnerabilities, in it or in what it needs. */
function isByPolicy(report: Report): boolean {
  const { step, outcome, holds, verdict } = report
  if (outcome === 'unavailable') return false
  if (outcome !== 'failed' && holds !== true) return true
  if (step === 'format') return outcome !== 'failed' && verdict === 'licence'
  return (step === 'vulnerabilities' || step === 'dependencies') && verdict === 'findings' && isWhole(report)
}

/** Why a version waits although somebody let it through. */
const sayOverruled = ({ said }: Report): string =>
  `A waiver was given for it, and is about known vulnerabilities and licences alone: ${said}`

/**
 * The version as a waiver lets it through: only where nothing but known vulnerabilities and its licence stand against
 * it. What is malicious, and what an engine refused or did not look at, waits for a person all the same.
 */
export function waived(manifest: Manifest, waiver: StandingWaiver, now: string): Manifest {
  const { state, reports, findings, review } = manifest
  if (state === 'published' || state === 'rejected' || review?.held_for !== undefined) return manifest
  const other = reports.find(report => !isByPolicy(report))
  if (other !== undefined || findings.some(isMalicious))
    return state === 'pending_review' && other !== undefined
      ? { ...manifest, review: { ...review, held_at: now, held_for: sayOverruled(other) } }
      : manifest
  const decision: Decision = {
    ...{ decision: 'exception', action: 'approve', justification: waiver.reason, by: waiver.given_by, at: now },
    expires_at: waiver.expires_at.toISOString(),
    covers: findings.map(({ id }) => id),
  }
  return { ...manifest, state: transition(state, 'approve'), decision, review: { ...review, history: [decision] } }
}

/** Whether these name the bytes that come: an index without digests names only a place, whose bytes may be mended. */
const namesBytes = (wanted: Wanted | WantedOtherwise): boolean =>
  !('files' in wanted) || wanted.files.every(({ digests }) => Object.keys(digests).length > 0)

/** The version with a warning where its name may be meant to be taken for another: where it comes from is in doubt. */
function warned(manifest: Manifest): Manifest {
  const reports = manifest.reports.map(report =>
    report.step === 'provenance'
      ? { ...report, outcome: 'warned' as const, said: [report.said, LOOKS_ALIKE].filter(Boolean).join(' ') }
      : report,
  )
  return { ...manifest, reports }
}

export function createBring(deps: BringDeps): Bring {
  const { db, catalog, gate, settings, clock, log, upstream, flights, lookalikes } = deps
  const refusals = createRefusals(clock)

  async function fetchAll(
    registry: Distribution,
    [first, ...more]: Wanted['files'],
    signal: AbortSignal,
  ): Promise<SpooledFile> {
    const limitBytes = settings.now().validation.max_upload_size_mb * 1024 * 1024
    const options = { limitBytes, signal }
    const main = await upstream.download(registry, first, options)
    const beside: SpooledFile[] = []
    try {
      for (const file of more) beside.push(await upstream.download(registry, file, options))
    } catch (error) {
      await Promise.all([main, ...beside].map(one => one.discard()))
      throw error
    }
    return beside.length === 0 ? main : together(main, beside)
  }

  /** The catalogue's door for what came from an upstream. @throws upstream_refused */
  async function enter(registry: Distribution, admit: Admit, actor: Actor, wanted: Wanted | WantedOtherwise) {
    const lookalike = await lookalikes.of(admit.manifest.ref.format)
    const isAlike = lookalike(admit.manifest.ref.name) !== undefined
    const change = isAlike ? { ...admit, manifest: warned(admit.manifest) } : admit
    const { manifest } = change
    const { ref, complain, heldFor } = wanted
    const isOther = printRef(manifest.ref) !== printRef({ arch: manifest.ref.arch, ...ref })
    const { name, version, arch } = manifest.ref
    const inside = `it is ${name} ${version}${'arch' in ref && ref.arch !== arch ? ` for ${arch}` : ''} inside`
    const why = isOther ? inside : complain?.(manifest)
    if (why !== undefined) refuseUpstream('files' in wanted ? wanted.files[0].filename : ref.name, 'malformed', why)
    const at = isoNow(clock)
    const waiver = await findWaiver(db, ref, clock.now())
    const waits = isAlike && registry.registry?.holdLookalikes === true && waiver === undefined
    const isOpen = manifest.state === 'published' || (waits && manifest.state === 'pending_review')
    const held = isOpen ? (heldFor?.(manifest) ?? (waits ? WAITS_AS_LOOKALIKE : undefined)) : undefined
    if (held !== undefined) {
      const review = { ...manifest.review, held_at: at, held_for: held }
      return catalog.change({ ...change, manifest: { ...manifest, state: 'pending_review', review } }, actor)
    }
    return catalog.change(waiver === undefined ? change : { ...change, manifest: waived(manifest, waiver, at) }, actor)
  }

  async function fly(
    registry: Distribution,
    wanted: Wanted | WantedOtherwise,
    { actor, signal }: { readonly actor: Actor; readonly signal: AbortSignal },
  ): Promise<Manifest> {
    if (registry.state === 'retired') fail('distribution_retired', { codename: registry.codename })
    const file = await ('files' in wanted ? fetchAll(registry, wanted.files, signal) : wanted.fetch(signal))
    const changed = await passGate(
      gate,
      {
        ...{ file, format: getFormat(registry.format), distribution: registry, actor },
        from: `source:${registry.codename}`,
        imported: { method: 'internet', group: randomUUID() },
      },
      signal,
      (change, by) => enter(registry, change, by, wanted),
    )
    tellAdmitted(deps, changed)
    return changed.manifest
  }

  return {
    bring(registry, wanted, { actor, patienceMs }) {
      const ref = printRef({ arch: 'any', ...wanted.ref })
      // of a version that is named by a digest it names the bytes
      const bytes = `${ref} ${'files' in wanted ? JSON.stringify(wanted.files) : ''}`
      const flight = flights.join(`version ${ref}`, async signal => {
        refusals.check(bytes)
        try {
          return await fly(registry, wanted, { actor, signal })
        } catch (error) {
          if (namesBytes(wanted)) refusals.keep(bytes, error)
          if (!signal.aborted) log.warn({ err: error, ref }, 'a version did not come in from its upstream')
          throw error
        }
      })
      return within(patienceMs, flight)
    },
  }
}
