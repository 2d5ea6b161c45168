import { join } from 'node:path'
import type { FindFixes } from '../core/advisories.ts'
import type { EngineDeps } from '../features/engines/handlers.ts'
import { getFormat } from '../formats/index.ts'
import type { Job } from '../jobs/scheduler.ts'
import type { Log } from '../lib/log.ts'
import type { GuardedFetch } from '../outbound/fetch.ts'
import { createAdvisoriesOf } from '../vulndb/match/advisories-of.ts'
import { createDatabase } from '../vulndb/store/database.ts'
import { createFeeds } from '../vulndb/feeds/feeds.ts'
import type { ImportResult } from '../vulndb/store/import.ts'
import { createImporter } from '../vulndb/store/importer.ts'
import { createOrders } from '../vulndb/versions/orders.ts'
import { createOsvScanner, type OsvScanner } from '../scanners/osv.ts'
import { createThreatIntel, type ThreatIntel } from '../vulndb/intel/threat-intel.ts'
import type { Foundation } from './foundation.ts'

/** The embedded engine over its data, before anything else is there that could use it. */
export interface VulnDb {
  readonly scanner: OsvScanner
  readonly intel: ThreatIntel
  readonly fixes: FindFixes
  readonly deps: Pick<EngineDeps, 'database' | 'importer' | 'feeds' | 'security'>
  readonly jobs: readonly Job[]
  /** Of when the newest of what is loaded is. */
  dataAt(): Promise<Date | undefined>
  /** Asks for the catalogue of known exploited vulnerabilities, in the background. */
  refreshKev(): Promise<void>
  /** Fetches all that is configured again, in the background: somebody says that it is new. */
  refreshFeeds(): Promise<void>
  /** Called after an import that changed what is known. */
  onChanged(listener: (result: ImportResult) => void): void
  stop(): Promise<void>
}

// beside the bundle's main program; in the sources below cli/
const WORKER = import.meta.filename.endsWith('.ts')
  ? join(import.meta.dirname, '..', 'cli', 'vulndb-worker.ts')
  : join(import.meta.dirname, 'vulndb-worker.mjs')

/** The embedded vulnerability data: what reads, imports and fetches them. */
export function composeVulnDb(
  { layout, settings, clock, events }: Foundation,
  { fetch, log }: { readonly fetch: GuardedFetch; readonly log: Log },
): VulnDb {
  const { security } = layout
  const listeners: ((result: ImportResult) => void)[] = []
  const orders = createOrders({ compare: (format, a, b) => getFormat(format).compareVersions(a, b) })
  const database = createDatabase({ security })
  const importer = createImporter({
    security,
    worker: WORKER,
    clock,
    key: () => settings.now().security.bundle_key,
    onChanged: result => {
      log.info(
        { generation: result.generation, sources: result.sources.length, ms: Math.round(result.took_ms) },
        'vulnerability data were imported',
      )
      events.emit({
        type: 'engine',
        at: clock.now().toISOString(),
        data: { engine: 'osv', generation: result.generation },
      })
      for (const listener of listeners) listener(result)
    },
  })
  const feeds = createFeeds({
    security,
    importer,
    fetch,
    clock,
    addresses: () => settings.now().security.feeds,
    limitBytes: () => settings.now().security.max_database_mb * 1_024 * 1_024,
    warn: (facts, message) => log.warn(facts, message),
  })
  const scanner = createOsvScanner({
    security,
    database,
    orders,
    clock,
    maxAgeDays: () => settings.now().validation.vuln_data_max_age_days,
  })
  return {
    scanner,
    async dataAt() {
      const { data_at: at } = await scanner.status()
      return at === undefined ? undefined : new Date(at)
    },
    intel: createThreatIntel({ layout }),
    fixes: createAdvisoriesOf({ database, orders }),
    deps: { database, importer, feeds, security },
    jobs: [
      {
        id: 'vulndb',
        name: 'Fetch vulnerability data from the feeds',
        run: async () => {
          await feeds.run()
        },
        when: () =>
          feeds.isConfigured()
            ? `${settings.now().security.feeds.minute} ${settings.now().security.feeds.hour} * * *`
            : undefined,
      },
    ],
    refreshKev: async () => {
      void feeds
        .run(feed => feed.source === 'kev')
        .catch((error: unknown) => log.error({ err: error }, 'the KEV catalogue could not be fetched'))
    },
    refreshFeeds: async () => {
      void feeds.run().catch((error: unknown) => log.error({ err: error }, 'vulnerability data could not be fetched'))
    },
    onChanged: listener => {
      listeners.push(listener)
    },
    stop: async () => {
      feeds.stop()
      await importer.stop()
    },
  }
}
