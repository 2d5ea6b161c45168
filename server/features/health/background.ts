import { antivirusSilence } from '../../core/policy.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { folderSizes, type FolderSize } from './sizes.ts'
import { probeFolder, within, type Probe } from './probes.ts'
import type { HealthDeps } from './deps.ts'
import { machineProbes } from './machine-probes.ts'
import { readHost, type HostFacts } from './host.ts'

/** The last results of the background. */
export interface Seen {
  /** The specification's non-critical group, without the scheduler. Empty before the first round. */
  readonly probes: Readonly<Record<string, Probe>>
  /** Why no engine can scan for vulnerabilities. */
  readonly dataWarning?: string | undefined
  /** What the policy misses of the data on exploitation. */
  readonly catalogueWarning?: string | undefined
  /** Keys of debts that could not be delivered, with their tries. */
  readonly stuck: readonly string[]
  /** null: the folder is absent. No entry: not measured yet. */
  readonly sizes: Readonly<Partial<Record<string, FolderSize | null>>>
  /** Absent: not looked at yet. */
  readonly host?: HostFacts
  /** Of the appliance's machine. */
  readonly machine?: Readonly<Record<string, Probe>>
}

export interface Background {
  /** Resolves after the first round of probes; sizes follow. */
  start(): Promise<void>
  stop(): Promise<void>
  seen(): Seen
}

const EVERY_MS = 15_000
const PROBE_MS = 5_000
const HOST_EVERY_MS = 60_000
const SIZES_EVERY_MS = 10 * 60_000
/** Clients must learn of the next key while this one still signs. */
const KEY_EXPIRY_NOTICE_MS = 60 * 86_400_000

/**
 * Asks engines, keys and schema every 15 seconds, looks at the machine every minute and measures folders every 10, so
 * that a health call does none of it.
 */
export function createBackground(deps: HealthDeps): Background {
  const stopping = new AbortController()
  const loops: Promise<void>[] = []
  let seen: Seen = { probes: {}, stuck: [], sizes: {} }

  async function probeClamav(): Promise<Probe> {
    const { enabled, ok, silence, version, signatures_version, signatures_at } = await deps.antivirus(
      AbortSignal.any([stopping.signal, AbortSignal.timeout(PROBE_MS)]),
    )
    if (!enabled) return { ok: true, version: null, note: 'Switched off (validation.clamav_scan).' } as Probe
    return {
      ok,
      version: version ?? null,
      signatures_version: signatures_version ?? null,
      signatures_at: signatures_at ?? null,
      // the engine's own words may hold an address or a path; users see them in GET /security/clamav/status
      ...(ok ? {} : { set_up: silence !== 'not_set_up', silence, error: antivirusSilence(silence ?? 'no_answer') }),
    } as Probe
  }

  async function probeReprepro(): Promise<Probe> {
    const { version, isPublisher } = await deps.reprepro()
    if (version !== undefined) return { ok: true, version, publisher: isPublisher } as Probe
    return isPublisher
      ? { ok: false, error: 'APT_PUBLISHER is reprepro, and reprepro is not installed' }
      : ({
          ok: true,
          version: null,
          publisher: false,
          note: 'not installed; trees are written by the service itself',
        } as Probe)
  }

  async function probeKey(): Promise<Probe> {
    const key = (await deps.keyring.keys()).find(one => one.role === 'current')
    if (key === undefined) return { ok: false, missing: true, error: 'there is no signing key yet' } as Probe
    const { fingerprint, expires_at: end } = key
    if (end === undefined) return { ok: true, fingerprint } as Probe
    const leftMs = Date.parse(end) - deps.clock.now().getTime()
    const facts = { fingerprint, expires_at: end }
    if (leftMs > KEY_EXPIRY_NOTICE_MS) return { ok: true, ...facts } as Probe
    const day = end.slice(0, 10)
    const error = leftMs > 0 ? `The signing key expires on ${day}.` : `The signing key expired on ${day}.`
    return { ok: false, expiring: true, error, ...facts } as Probe
  }

  async function probeSchema(): Promise<Probe> {
    const version = await deps.schemaVersion()
    return version === undefined ? { ok: false, error: 'no migration was applied' } : ({ ok: true, version } as Probe)
  }

  const rounds = {
    audit: () => probeFolder(deps.layout.audit),
    clamav: probeClamav,
    reprepro: probeReprepro,
    gpg: probeKey,
    alembic: probeSchema,
  } satisfies Record<string, () => Promise<Probe>>

  async function probe(): Promise<void> {
    const found = await Promise.all(
      Object.entries(rounds).map(async ([name, ask]) => [name, await within(PROBE_MS, ask)] as const),
    )
    const debts = await within(PROBE_MS, async () => ({ ok: true, rows: await deps.outbox.stuck() }))
    const stuck = 'rows' in debts ? debts.rows.map(row => `${row.key.slice(0, 60)} (${row.tries} tries)`) : seen.stuck
    const data = await within(PROBE_MS, async () => ({ ok: true, said: await deps.vulnerabilityDataWarning() }))
    const dataWarning = 'said' in data ? data.said : 'The vulnerability engines do not answer.'
    const catalogues = await within(PROBE_MS, async () => ({ ok: true, said: await deps.catalogueWarning?.() }))
    const catalogueWarning = 'said' in catalogues ? catalogues.said : seen.catalogueWarning
    seen = { ...seen, probes: Object.fromEntries(found), stuck, dataWarning, catalogueWarning }
  }

  async function measure(): Promise<void> {
    for await (const [name, size] of folderSizes(deps.dirs, stopping.signal))
      seen = { ...seen, sizes: { ...seen.sizes, [name]: size } }
  }

  async function lookAtHost(): Promise<void> {
    // not `{ ...seen, host: await … }`: other rounds end meanwhile
    const host = await readHost(deps)
    seen = { ...seen, host }
    await deps.noteHost?.(host)
  }

  async function lookAtMachine(): Promise<void> {
    const found = await deps.machine?.()
    seen = { ...seen, machine: machineProbes(found, deps.clock.now()) }
  }

  /** Repeats, `ms` after the last run ended. A round that fails keeps the results before it. */
  async function repeat(work: () => Promise<void>, ms: number): Promise<void> {
    while (!stopping.signal.aborted) {
      await work().catch(() => undefined)
      await sleep(ms, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined) // woken by stop
    }
  }

  return {
    start: async () => {
      await probe()
      // a key that was just made must not be reported missing for another round
      deps.keyring.onChange(() => {
        loops.push(probe().catch(() => undefined))
      })
      loops.push(
        sleep(EVERY_MS, undefined, { signal: stopping.signal, ref: false }).then(
          () => repeat(probe, EVERY_MS),
          () => undefined,
        ),
      )
      loops.push(repeat(lookAtHost, HOST_EVERY_MS), repeat(measure, SIZES_EVERY_MS))
      loops.push(repeat(lookAtMachine, HOST_EVERY_MS))
    },
    stop: async () => {
      stopping.abort()
      await Promise.all(loops)
    },
    seen: () => seen,
  }
}
