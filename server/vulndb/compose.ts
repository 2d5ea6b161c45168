import { join } from 'node:path'
import type { FindFixes } from '../core/advisories.ts'
import type { Part } from '../core/feature.ts'
import type { Jobs } from '../core/work.ts'
import type { Repositories } from '../core/repository.ts'
import type { Layout } from '../files/layout.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { GuardedFetch } from '../outbound/fetch.ts'
import type { Events } from '../record/events.ts'
import type { Settings } from '../settings/store.ts'
import { createCollecting, type CollectFeeds } from './feeds/collect.ts'
import { createFeeds, FEEDS, type Feeds } from './feeds/feeds.ts'
import { createThreatIntel, type ThreatIntel } from './intel/threat-intel.ts'
import { createAdvisoriesOf } from './match/advisories-of.ts'
import { createJavaNames, type JavaNames } from './java/java-names.ts'
import { createDatabase, type Database } from './store/database.ts'
import type { ImportResult } from './store/import.ts'
import { createImporter, type Importer } from './store/importer.ts'
import { createOrders, type FormatOrders, type Orders } from './versions/orders.ts'

export interface VulnDbNeeds {
  readonly layout: Layout
  readonly settings: Pick<Settings, 'now'>
  readonly clock: Clock
  readonly repositories: Pick<Repositories, 'all' | 'find'>
  readonly events: Pick<Events, 'emit'>
  readonly fetch: GuardedFetch
  readonly log: Log
  readonly worker: Pick<Jobs, 'ask'>
  /** The order of versions that a format of packages has. */
  readonly compareVersions: FormatOrders['compare']
}

/** The embedded vulnerability data. */
export interface VulnDbPart extends Part {
  readonly database: Database
  readonly orders: Orders
  readonly importer: Importer
  readonly feeds: Feeds
  /** The files of the feeds, for sites that cannot fetch them. */
  readonly collect: CollectFeeds
  readonly intel: ThreatIntel
  /** What the loaded data know about Java libraries. */
  javaNames(): Promise<JavaNames>
  readonly fixes: FindFixes
  /** Fetches the catalogue of known exploited vulnerabilities, in the background. */
  refreshKev(): Promise<void>
  /** Fetches all configured feeds again, in the background, after an incoming webhook. */
  refreshFeeds(): Promise<void>
  /** Called after an import that changed what is known. */
  onChanged(listener: (result: ImportResult) => void): void
}

// beside the bundle's main program; in the sources below cli/
const WORKER = import.meta.filename.endsWith('.ts')
  ? join(import.meta.dirname, '..', 'cli', 'vulndb-worker.ts')
  : join(import.meta.dirname, 'vulndb-worker.mjs')

/** The embedded vulnerability data: reads, imports and fetches them. */
export function composeVulnDb(needs: VulnDbNeeds): VulnDbPart {
  const { layout, settings, clock, events, repositories, fetch, log, worker } = needs
  const { security } = layout
  const listeners: ((result: ImportResult) => void)[] = []
  const orders = createOrders({ compare: needs.compareVersions })
  const database = createDatabase({ security })
  const importer = createImporter({
    security,
    worker: WORKER,
    clock,
    repositories,
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
  const fetching = {
    security,
    fetch,
    clock,
    repositories,
    addresses: () => settings.now().security.feeds,
    limitBytes: () => settings.now().security.max_database_mb * 1_024 * 1_024,
    warn: (facts: object, message: string) => log.warn(facts, message),
  }
  const feeds = createFeeds({ ...fetching, importer })
  const fetchFeeds = async (request: { readonly only?: string }): Promise<void> => {
    await worker.ask({ kind: FEEDS, request, by: 'system' })
  }
  return {
    database,
    orders,
    importer,
    feeds,
    collect: createCollecting(fetching),
    intel: createThreatIntel({ layout }),
    javaNames: createJavaNames({ security, database }),
    fixes: createAdvisoriesOf({ database, orders }),
    jobs: [
      {
        id: 'vulndb',
        name: 'Fetch vulnerability data from the feeds',
        work: { kind: FEEDS, request: {} },
        run: () => fetchFeeds({}),
        when: () =>
          feeds.isConfigured()
            ? `${settings.now().security.feeds.minute} ${settings.now().security.feeds.hour} * * *`
            : undefined,
        daily: true,
      },
    ],
    refreshKev: () => fetchFeeds({ only: 'kev' }),
    refreshFeeds: () => fetchFeeds({}),
    onChanged: listener => {
      listeners.push(listener)
    },
    stop: async () => {
      await importer.stop()
    },
  }
}
