import { execFile } from 'node:child_process'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bind } from '../../core/contract.ts'
import { missingCataloguesWarning } from '../../core/policy.ts'
import type { Feature } from '../../core/feature.ts'
import { ALL_SEEING, type Viewer } from '../../core/viewer.ts'
import type { Repositories } from '../../core/repository.ts'
import type { DatabaseAddress, Db } from '../../db/db.ts'
import type { Leadership } from '../../db/leadership.ts'
import type { Replicas } from '../../db/replicas.ts'
import { schemaVersion } from '../../db/migrate.ts'
import type { Layout } from '../../files/layout.ts'
import type { Format } from '../../formats/format.ts'
import type { Scheduler } from '../../work/scheduler.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Shared } from '../../lib/replica-memory.ts'
import type { Metrics } from '../../record/metrics.ts'
import { dataWarning } from '../../scanners/data-warning.ts'
import type { AntivirusScanner, VulnerabilityScanner } from '../../scanners/scanner.ts'
import type { Licensing } from '../../settings/licensing.ts'
import type { Settings } from '../../settings/store.ts'
import { health } from './contract.ts'
import type { HealthDeps } from './deps.ts'
import { registerGauges } from './gauges.ts'
import { healthHandlers } from './handlers.ts'
import { createHealth, type Health } from './health.ts'
import { machines, machinesHandlers } from './machines.ts'
import { createMachineHistory, type MachineHistory } from './machine-history.ts'
import { createOpenViewer, createPublicViewer, type PublicViewerDeps } from './public-viewer.ts'
import { createRepreproProbe } from './reprepro.ts'

/** Runs a tool without a shell and gives what it printed on both streams. */
async function runTool(file: string, args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(file, [...args], { timeout: 5_000 })
  return stdout + stderr
}

// where Debian's packages put tools; the service's own PATH may be anything
const TOOL_PATH = '/usr/local/bin:/usr/bin:/bin'

export interface HealthNeeds {
  readonly clock: Clock
  readonly db: Db
  readonly layout: Layout
  readonly repositories: Pick<Repositories, 'all'>
  readonly keyring: HealthDeps['keyring']
  readonly outbox: HealthDeps['outbox']
  readonly settings: Pick<Settings, 'now'>
  readonly starting: HealthDeps['starting']
  readonly metrics: Metrics
  readonly licensing: Pick<Licensing, 'card'>
  readonly shared: Pick<Shared, 'backend' | 'trouble'>
  readonly log: Log
  readonly version: string
  readonly formats: readonly Pick<Format, 'id'>[]
  readonly aptPublisher: 'native' | 'reprepro'
  /** METRICS_TOKEN. */
  readonly metricsToken: string | undefined
  readonly antivirus: AntivirusScanner
  readonly vulnerability: readonly Pick<VulnerabilityScanner, 'status'>[]
  readonly scheduler: Scheduler
  readonly leadership: Pick<Leadership, 'leads'>
  /** The name of this process. */
  readonly instance: string
  readonly replicas: Pick<Replicas, 'list'> | undefined
  readonly backups: NonNullable<HealthDeps['backups']>
  readonly diskWatch: HealthDeps['diskWatch']
  readonly machine: NonNullable<HealthDeps['machine']>
  readonly databaseAddress: DatabaseAddress
  readonly logFolder: string
  /** Which data on exploitation are not loaded. */
  readonly missingCatalogues: () => Promise<readonly ('epss' | 'kev')[]>
  /** The date of the vulnerability data. */
  readonly dataAt: () => Promise<Date | undefined>
  /** Other warnings, in whole sentences, without what the viewer may not see. */
  readonly warnings: (viewer: Viewer) => readonly string[]
  /** Identifies the viewer of a public report. */
  readonly authenticate: PublicViewerDeps['authenticate']
  readonly hiddenFrom: PublicViewerDeps['hiddenFrom']
}

const REPREPRO_LIMITS =
  'reprepro writes the APT indexes: they name the newest version of each package alone, each file is kept twice, and what leaves an index is gone at once.'

function warningsOf({ aptPublisher, licensing, warnings }: HealthNeeds, viewer: Viewer): readonly string[] {
  const { warning } = licensing.card()
  return [
    ...warnings(viewer),
    ...(aptPublisher === 'reprepro' ? [REPREPRO_LIMITS] : []),
    ...(warning === null || warning === undefined ? [] : [warning]),
  ]
}

const replicasOf = (replicas: Pick<Replicas, 'list'>) => async () =>
  (await replicas.list()).map(({ id, host, alive }) => ({ id, host, alive }))

function reportOf(needs: HealthNeeds, history: MachineHistory): Health {
  const { clock, db, layout, keyring, outbox, settings, licensing, antivirus, vulnerability, scheduler, shared } = needs
  return createHealth({
    clock,
    db,
    layout,
    version: needs.version,
    formats: needs.formats.map(({ id }) => id),
    keyring,
    outbox,
    policy: () => settings.now().validation,
    vulnerabilityDataWarning: async () => {
      const { grype_scan: isWanted, vuln_data_max_age_days: maxAgeDays } = settings.now().validation
      if (!isWanted) return undefined
      return dataWarning(await Promise.all(vulnerability.map(scanner => scanner.status())), {
        maxAgeDays,
        now: clock.now(),
      })
    },
    catalogueWarning: async () => {
      const { validation, cve_policy } = settings.now()
      if (!validation.grype_scan || !cve_policy.auto_enrich) return undefined
      return missingCataloguesWarning(await needs.missingCatalogues(), { ...cve_policy, ...validation })
    },
    dirs: {
      pool: layout.pool,
      manifests: layout.manifests,
      audit: layout.audit,
      grype_db: join(layout.security, 'grype-db'),
      clamav_db: '/var/lib/clamav',
    },
    schemaVersion: () => schemaVersion(db),
    antivirus: async signal => ({
      ...(await antivirus.status(signal)),
      enabled: settings.now().validation.clamav_scan,
    }),
    scheduler: () => ({
      started: scheduler.started,
      leader: needs.leadership.leads(),
      jobs: scheduler.jobs().map(({ listed: _, ...job }) => job),
    }),
    reprepro: createRepreproProbe({ path: TOOL_PATH, isPublisher: needs.aptPublisher === 'reprepro', run: runTool }),
    license: () => {
      const { edition, active, standing, issued_to, issued_at, expires_at, warning } = licensing.card()
      return { edition, active, standing, issued_to, issued_at, expires_at, warning }
    },
    starting: needs.starting,
    instance: {
      id: needs.instance,
      shared: shared.backend === 'redis' ? 'redis' : 'local',
      trouble: shared.trouble,
    },
    ...(needs.replicas === undefined ? {} : { replicas: replicasOf(needs.replicas) }),
    backups: needs.backups,
    diskLimits: () => settings.now().disk,
    ...(needs.diskWatch === undefined ? {} : { diskWatch: needs.diskWatch }),
    machine: needs.machine,
    noteHost: history.note,
    places: {
      packages: layout.root,
      database: 'socket' in needs.databaseAddress ? layout.database : undefined,
      logs: needs.logFolder,
    },
    warnings: viewer => warningsOf(needs, viewer),
  })
}

/** The health report over its probes, which go on beside the requests, and the gauges. */
export function composeHealth(needs: HealthNeeds): Feature & Pick<Health, 'report'> {
  const { clock, db, metrics, antivirus, dataAt, log, metricsToken } = needs
  const viewer = createPublicViewer(needs)
  // with a token of their own, those who run the service see all numbers
  const isOpen = metricsToken === undefined || metricsToken === ''
  const metricsViewer = isOpen ? createOpenViewer(needs) : () => Promise.resolve(ALL_SEEING)
  metrics.showTo(metricsViewer)
  registerGauges({
    metrics,
    db,
    viewer: metricsViewer,
    clock,
    vulnerabilityDataAt: dataAt,
    signaturesAt: async () => {
      const { signatures_at } = await antivirus.status()
      return signatures_at === undefined ? undefined : new Date(signatures_at)
    },
  })
  const history = createMachineHistory({ db, clock, machine: hostname() })
  const report = reportOf(needs, history)
  return {
    routes: [
      ...bind(health, healthHandlers, { health: report, metrics, clock, metricsToken, viewer }),
      ...bind(machines, machinesHandlers, { history }),
    ],
    start: () =>
      void report.start().catch((error: unknown) => log.error({ err: error }, 'the health probes did not start')),
    stop: () => report.stop(),
    report: report.report,
  }
}
