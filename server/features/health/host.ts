import { availableParallelism, loadavg, uptime } from 'node:os'
import { stat } from 'node:fs/promises'
import { isoNow, type Clock } from '../../lib/clock.ts'
import { space } from '../../lib/disk-space.ts'
import { publicReason, within } from './probes.ts'

export type DiskUse = 'packages' | 'database' | 'logs'

/** A disk that the service writes to. Numbers are null where nobody here can look; `why` says why. */
export interface HostDisk {
  readonly holds: readonly DiskUse[]
  readonly free_gb: number | null
  readonly total_gb: number | null
  readonly used_pct: number | null
  readonly why?: string
}

/** The machine that this process runs on. What could not be read is null and named in `unknown`. */
export interface HostFacts {
  readonly ok: boolean
  readonly collected_at: string
  readonly uptime_seconds: number
  readonly cores: number
  /** Processes that run or wait for the disk, over 1, 5 and 15 minutes; `per_core` of the first. */
  readonly load: {
    readonly one: number
    readonly five: number
    readonly fifteen: number
    readonly per_core: number
  }
  /** `limit_mb`: what this process may have where it is limited, as in a container. */
  readonly memory: {
    readonly total_mb: number
    readonly available_mb: number
    readonly used_pct: number
    readonly limit_mb: number | null
  } | null
  /** Null also where there is none. */
  readonly swap: { readonly total_mb: number; readonly used_mb: number } | null
  readonly disks: readonly HostDisk[]
  /** Of the processor; null where the machine shows no sensor. */
  readonly temperature_c: number | null
  /** Part → why it could not be read. */
  readonly unknown: Readonly<Record<string, string>>
}

export interface HostDeps {
  readonly clock: Clock
  /** What lies where on this machine; undefined: on another one, or nobody knows where. */
  readonly places: Readonly<Record<DiskUse, string | undefined>>
}

/** What is asked of the library, so that a test can be a machine. */
export interface Sensors {
  mem(): Promise<{
    readonly total: number
    readonly available: number
    readonly swaptotal: number
    readonly swapused: number
  }>
  cpuTemperature(): Promise<{ readonly main: number | null }>
}

const PATIENCE_MS = 5_000
const MB = 1024 ** 2
const mb = (bytes: number): number => Math.round(bytes / MB)
const hundredths = (value: number): number => Math.round(value * 100) / 100

/** Waits for one part; why it failed otherwise. */
async function part<T>(
  ask: () => Promise<T>,
): Promise<{ readonly value: T } | { readonly value: null; readonly why: string }> {
  const seen = await within(PATIENCE_MS, async () => ({ ok: true, value: await ask() }))
  return 'value' in seen ? seen : { value: null, why: ('error' in seen ? seen.error : undefined) ?? 'it failed' }
}

/** The disks behind the places, each once. */
async function readDisks(places: HostDeps['places']): Promise<HostDisk[]> {
  const disks = new Map<unknown, HostDisk>()
  for (const [use, path] of Object.entries(places) as [DiskUse, string | undefined][]) {
    const nowhere = { holds: [use], free_gb: null, total_gb: null, used_pct: null }
    if (path === undefined) {
      disks.set(use, { ...nowhere, why: 'DATABASE_URL names a server; its disk is looked at where it runs.' })
      continue
    }
    try {
      const { dev } = await stat(path)
      const { free_gb, total_gb, used_pct } = await space(path)
      const holds = [...(disks.get(dev)?.holds ?? []), use]
      disks.set(dev, { holds, free_gb, total_gb, used_pct })
    } catch (error) {
      disks.set(use, { ...nowhere, why: `It could not be looked at: ${publicReason(error)}.` })
    }
  }
  return [...disks.values()]
}

/** Memory that this process may have; null where all of the machine. */
function limitMb(totalBytes: number): number | null {
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalBytes ? mb(limit) : null
}

/** Looks at the machine once: about 30 ms, with programs that the library starts. Never throws. */
export async function readHost(
  { clock, places }: HostDeps,
  sensors: () => Promise<Sensors> = () => import('systeminformation'),
): Promise<HostFacts> {
  const [memory, heat, disks] = await Promise.all([
    part(async () => (await sensors()).mem()),
    part(async () => (await sensors()).cpuTemperature()),
    readDisks(places),
  ])
  const cores = availableParallelism()
  const [one = 0, five = 0, fifteen = 0] = loadavg()
  const { value: bytes } = memory
  const degrees = heat.value?.main ?? null
  const unknown = {
    ...('why' in memory ? { memory: memory.why } : {}),
    ...('why' in heat ? { temperature: heat.why } : {}),
  }
  return {
    ok: Object.keys(unknown).length === 0,
    collected_at: isoNow(clock),
    uptime_seconds: Math.floor(uptime()),
    cores,
    load: {
      one: hundredths(one),
      five: hundredths(five),
      fifteen: hundredths(fifteen),
      per_core: hundredths(one / cores),
    },
    memory: bytes && {
      total_mb: mb(bytes.total),
      available_mb: mb(bytes.available),
      used_pct: Math.round((1 - bytes.available / bytes.total) * 1000) / 10,
      limit_mb: limitMb(bytes.total),
    },
    swap: bytes && bytes.swaptotal > 0 ? { total_mb: mb(bytes.swaptotal), used_mb: mb(bytes.swapused) } : null,
    disks,
    // some machines show a sensor that is not wired: it reads 0
    temperature_c: degrees === null || degrees <= 0 ? null : Math.round(degrees * 10) / 10,
    unknown,
  }
}
