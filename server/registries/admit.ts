import type { Actor, Changed } from '../catalog/change.ts'
import { fail } from '../core/errors.ts'
import type { Distribution } from '../core/repository.ts'
import type { SpooledFile } from '../files/spool.ts'
import type { Format } from '../formats/format.ts'
import { isoNow } from '../lib/clock.ts'
import { passGate, type Applicant, type Door } from '../pipeline/gate.ts'
import type { RegistryDeps } from './deps.ts'
import type { Caller } from './protocol.ts'

/** Files of one version that somebody publishes. */
export interface Publication extends Pick<Applicant, 'expectedSha256' | 'heldFor' | 'read'> {
  /** `together(main, beside)` where the version has several. */
  readonly file: SpooledFile
  readonly format: Format
  readonly registry: Distribution
  readonly actor: Actor
  /** `catalog.change` by default. */
  readonly door?: Door
}

/** Who acts, for the audit. */
export const actorOf = ({ who, ip }: Pick<Caller, 'who' | 'ip'>): Actor => ({ name: who?.name ?? 'anonymous', ip })

/** Whether its versions are what people publish here, and so theirs to change. @throws registry_takes_no_uploads */
export function needOwn({ codename, registry }: Pick<Distribution, 'codename' | 'registry'>): void {
  const kind = registry?.kind ?? 'hosted'
  if (kind !== 'hosted') fail('registry_takes_no_uploads', { name: codename, kind, where: 'a hosted registry' })
}

/** Whether somebody may publish into it at all. @throws registry_takes_no_uploads, distribution_retired */
export function needHosted(registry: Pick<Distribution, 'codename' | 'registry' | 'state'>): void {
  needOwn(registry)
  const { codename, state } = registry
  if (state === 'retired') fail('distribution_retired', { codename })
}

/** Counts what came through the gate, and tells the dashboard. */
export function tellAdmitted(
  { metrics, events, clock }: Pick<RegistryDeps, 'metrics' | 'events' | 'clock'>,
  { outcome, manifest }: Changed,
): void {
  const { name, version, arch, codename } = manifest.ref
  metrics.uploaded(outcome === 'already' ? 'already_imported' : manifest.state, codename)
  if (outcome === 'created') {
    for (const { severity } of manifest.findings) metrics.found(severity, 1, codename)
    events.emit({
      type: 'upload',
      at: isoNow(clock),
      data: { name, version, arch, distribution: codename, status: manifest.state, by: manifest.by },
    })
  }
}

/**
 * Takes what arrived whole through the gate, whether or not its sender still listens, counts it and tells the
 * dashboard. Owns the file. Whoever calls it has asked `caller.need('write')`.
 * @throws registry_takes_no_uploads, distribution_retired, and what `Gate.admit` throws
 */
export async function admitVersion(
  { gate, metrics, events, clock }: Pick<RegistryDeps, 'gate' | 'metrics' | 'events' | 'clock'>,
  { file, format, registry, actor, door, ...rest }: Publication,
): Promise<Changed> {
  try {
    needHosted(registry)
  } catch (error) {
    await file.discard()
    throw error
  }
  const applicant: Applicant = { file, format, distribution: registry, from: 'upload', actor, ...rest }
  const changed = await passGate(gate, applicant, new AbortController().signal, door)
  tellAdmitted({ metrics, events, clock }, changed)
  return changed
}
