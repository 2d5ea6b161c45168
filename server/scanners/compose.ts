import { join } from 'node:path'
import type { Layout } from '../files/layout.ts'
import type { Clock } from '../lib/clock.ts'
import { runTool } from '../lib/exec.ts'
import type { Settings } from '../settings/store.ts'
import type { Database } from '../vulndb/store/database.ts'
import type { Orders } from '../vulndb/versions/orders.ts'
import { isWithoutSignatures, newestSignatures } from './clamav-signatures.ts'
import type { ClamdAddress } from './clamd-socket.ts'
import type { Intel } from './enrich.ts'
import type { ExternalDeps } from './external.ts'
import { createScanners, type Scanners } from './index.ts'
import { rememberFailures } from './last-scan.ts'
import { createMatcher, type Matcher } from './matcher.ts'
import { createOsvScanner } from './osv.ts'
import type { AntivirusScanner, EngineStatus } from './scanner.ts'

export interface ScannerNeeds {
  readonly layout: Layout
  readonly settings: Pick<Settings, 'now'>
  readonly clock: Clock
  /** CLAMD_SOCKET or CLAMD_HOST. */
  readonly clamd: ClamdAddress | undefined
  /** Folders of programs, separated by `:`. */
  readonly searchPath: string
  /** The loaded advisories, the orders of versions and what is known of exploitation, for the embedded engine. */
  readonly vulndb: { readonly database: Database; readonly orders: Orders; readonly intel: Intel }
  /** Engines instead of the built-in ones. */
  readonly engines?: Partial<Scanners>
}

/** Every engine there is. */
export interface ScannerPart {
  readonly scanners: Scanners
  /** The antivirus engine in health, settings and reports. */
  readonly antivirus: AntivirusScanner
  /** The embedded engine for packages that are known by name alone. */
  readonly matcher: Matcher
  /** The status of every engine. */
  statuses(): Promise<readonly EngineStatus[]>
  /** The date of the newest loaded vulnerability data. */
  dataAt(): Promise<Date | undefined>
}

/** What grype and trivy need: where to find them, where their data lie, and the settings about them. */
function programOf(id: 'grype' | 'trivy', { layout, settings, clock, searchPath }: ScannerNeeds): ExternalDeps {
  return {
    exec: runTool,
    searchPath,
    clock,
    databaseFolder: join(layout.security, `${id}-db`),
    workFolder: layout.incoming,
    enabled: () => settings.now().engines[id],
    pin: () => settings.now().engines[`${id}_sha256`],
    maxAgeDays: () => settings.now().validation.vuln_data_max_age_days,
  }
}

/** The engines, each with what it needs. */
export function composeScanners(needs: ScannerNeeds): ScannerPart {
  const { settings, clock, clamd, vulndb, engines = {} } = needs
  const maxAgeDays = (): number => settings.now().validation.vuln_data_max_age_days
  const osv = createOsvScanner({ ...vulndb, clock, maxAgeDays })
  const built: Scanners = {
    ...createScanners({
      osv,
      clamd: {
        address: clamd,
        clock,
        signatures: () => newestSignatures(settings.now().clamav.database_folder),
        isWithoutSignatures: () => isWithoutSignatures(settings.now().clamav.database_folder),
      },
      programs: { grype: programOf('grype', needs), trivy: programOf('trivy', needs) },
    }),
    ...engines,
  }
  const scanners: Scanners = { ...built, vulnerability: built.vulnerability.map(rememberFailures) }
  const [antivirus] = scanners.antivirus
  if (antivirus === undefined) throw new Error('there is no antivirus scanner in this build')
  return {
    scanners,
    antivirus,
    matcher: createMatcher({ ...vulndb, osv, now: () => clock.now(), maxAgeDays }),
    statuses: () => Promise.all([...scanners.antivirus, ...scanners.vulnerability].map(engine => engine.status())),
    async dataAt() {
      const { data_at: at } = await osv.status()
      return at === undefined ? undefined : new Date(at)
    },
  }
}
