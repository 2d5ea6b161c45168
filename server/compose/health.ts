import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { schemaVersion } from '../db/migrate.ts'
import type { Env } from '../env.ts'
import { registerGauges } from '../features/health/gauges.ts'
import { createHealth, type Health } from '../features/health/health.ts'
import { dataTrouble } from '../features/health/data-trouble.ts'
import { createRepreproProbe } from '../features/health/reprepro.ts'
import type { Scheduler } from '../jobs/scheduler.ts'
import type { AntivirusScanner, VulnerabilityScanner } from '../scanners/scanner.ts'
import type { Foundation } from './foundation.ts'

/** Runs a tool without a shell and gives what it printed on both streams. */
async function runTool(file: string, args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(file, [...args], { timeout: 5_000 })
  return stdout + stderr
}

// where Debian's packages put tools; the service's own PATH may be anything
const TOOL_PATH = '/usr/local/bin:/usr/bin:/bin'

export interface HealthParts {
  readonly antivirus: AntivirusScanner
  readonly vulnerability: readonly Pick<VulnerabilityScanner, 'status'>[]
  readonly scheduler: Scheduler
  /** Of when the vulnerability data are. */
  readonly dataAt: () => Promise<Date | undefined>
  /** What else admins are to know. */
  readonly warnings: () => readonly string[]
}

const REPREPRO_LIMITS =
  'reprepro writes the APT indexes: they name the newest version of each package alone, each file is kept twice, and what leaves an index is gone at once.'

/** The health report over its probes, and the gauges beside it. */
export function composeHealth(
  env: Env,
  base: Foundation,
  { antivirus, vulnerability, scheduler, dataAt, warnings }: HealthParts,
): Health {
  const { clock, db, layout, keyring, outbox, settings, metrics, licensing } = base
  registerGauges({
    metrics,
    db,
    clock,
    vulnerabilityDataAt: dataAt,
    signaturesAt: async () => {
      const { signatures_at } = await antivirus.status()
      return signatures_at === undefined ? undefined : new Date(signatures_at)
    },
  })
  return createHealth({
    clock,
    db,
    layout,
    version: env.version,
    keyring,
    outbox,
    onUnavailable: () => settings.now().validation.on_scanner_unavailable,
    vulnerabilityTrouble: async () => {
      const { grype_scan: isWanted, vuln_data_max_age_days: maxAgeDays } = settings.now().validation
      return isWanted
        ? dataTrouble(await Promise.all(vulnerability.map(scanner => scanner.status())), {
            maxAgeDays,
            now: clock.now(),
          })
        : undefined
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
    scheduler: () => ({ started: scheduler.started, leader: true, jobs: scheduler.jobs() }),
    reprepro: createRepreproProbe({ path: TOOL_PATH, isPublisher: env.aptPublisher === 'reprepro', run: runTool }),
    license: () => licensing.card(),
    instance: {
      id: randomUUID(),
      shared: base.shared.backend === 'redis' ? 'redis' : 'local',
      trouble: base.shared.trouble,
    },
    warnings: () => [
      ...env.warnings,
      ...warnings(),
      ...(env.aptPublisher === 'reprepro' ? [REPREPRO_LIMITS] : []),
      ...(licensing.card().warning === null ? [] : [licensing.card().warning ?? '']),
    ],
  })
}
