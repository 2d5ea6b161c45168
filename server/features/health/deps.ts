import type { DiskLimits, Forecast, ReserveFacts } from '../../core/disk.ts'
import type { CvePolicy } from '../../core/policy.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { FormatId } from '../../core/identity.ts'
import type { Db } from '../../db/db.ts'
import type { Outbox } from '../../db/outbox.ts'
import type { Layout } from '../../files/layout.ts'
import type { Clock } from '../../lib/clock.ts'
import type { EngineStatus } from '../../scanners/scanner.ts'
import type { Starting } from '../../record/starting.ts'
import type { SeenMachine } from '../../machine/protocol.ts'
import type { HostDeps, HostFacts } from './host.ts'
import type { Keyring } from '../../signing/signer.ts'

/** One scheduled job as the report shows it; `next_run` null while it is paused. */
export interface JobState {
  readonly id: string
  readonly name: string
  readonly next_run: string | null
}

export interface HealthDeps {
  readonly clock: Clock
  readonly db: Db
  readonly layout: Pick<Layout, 'root' | 'pool' | 'manifests' | 'audit'>
  /** Folders whose size is shown. */
  readonly dirs: Readonly<Record<'pool' | 'manifests' | 'audit' | 'grype_db' | 'clamav_db', string>>
  readonly version: string
  /** Formats whose packages are counted. */
  readonly formats: readonly FormatId[]
  /** What becomes of uploads that no engine can scan. */
  readonly policy: () => Pick<CvePolicy, 'on_scanner_unavailable'> & {
    readonly clamav_scan?: boolean
    readonly grype_scan?: boolean
  }
  /** Why no engine can scan for vulnerabilities now, in one sentence; undefined when one can, or scanning is off. */
  readonly vulnerabilityDataWarning: () => Promise<string | undefined>
  /** The newest applied migration. */
  readonly schemaVersion: () => Promise<string | undefined>
  readonly antivirus: (signal: AbortSignal) => Promise<EngineStatus & { readonly enabled: boolean }>
  readonly keyring: Pick<Keyring, 'keys' | 'onChange'>
  readonly outbox: Pick<Outbox, 'stuck'>
  /** `started` false on a leader is a failure; a passive replica has no jobs and reports that. */
  readonly scheduler: () => { readonly started: boolean; readonly leader: boolean; readonly jobs: readonly JobState[] }
  /** Whether reprepro is there, and whether it is the publisher. */
  readonly reprepro: () => Promise<{ readonly version: string | undefined; readonly isPublisher: boolean }>
  readonly license: () => {
    readonly edition: string
    readonly active: boolean
    readonly issued_to: string | null
    readonly expires_at?: string | null
    readonly warning?: string | null
  }
  /** `trouble`: why the shared memory does not answer. */
  readonly instance: {
    readonly id: string
    readonly shared: 'redis' | 'local'
    readonly trouble?: () => string | undefined
  }
  /** The processes of the installation; absent where there is only this one. */
  readonly replicas?: () => Promise<readonly { readonly id: string; readonly host: string; readonly alive: boolean }[]>
  readonly backups?: () => Promise<{ readonly targets?: readonly object[] }>
  readonly diskLimits: () => DiskLimits
  /** When the disk will be full, and what is kept for then. */
  readonly diskWatch?: () => Promise<{ readonly forecast: Forecast; readonly reserve: ReserveFacts }>
  /** The machine of the appliance, where this is one. */
  readonly machine?: () => Promise<SeenMachine>
  /** Keeps what was seen of this machine. */
  readonly noteHost?: (facts: HostFacts) => Promise<void>
  /** What lies on which disk of this machine. */
  readonly places: HostDeps['places']
  /** What the policy misses of the data on exploitation, in whole sentences. */
  readonly catalogueWarning?: () => Promise<string | undefined>
  /** What the start is doing; undefined when it has ended. */
  readonly starting: Pick<Starting, 'now'>
  /** Further warnings for the operator, in whole sentences, without what the viewer may not see. */
  readonly warnings?: (viewer: Viewer) => readonly string[]
}
