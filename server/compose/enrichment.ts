import type { Catalog } from '../catalog/catalog.ts'
import { createEnrichment } from '../review/enrich.ts'
import type { Job } from '../jobs/scheduler.ts'
import type { Log } from '../lib/log.ts'
import { policyOf } from '../pipeline/subject.ts'
import type { Enrich } from '../pipeline/vulnerabilities.ts'
import { enrich } from '../scanners/enrich.ts'
import type { ThreatIntel } from '../vulndb/intel/threat-intel.ts'
import type { Foundation } from './foundation.ts'

/** What adds EPSS and KEV to findings: at upload, and every night to those that are here. */
export function composeEnrichment(intel: ThreatIntel): {
  readonly enrich: Enrich
  job(base: Foundation, parts: { readonly catalog: Catalog; readonly log: Log }): Job
} {
  const add: Enrich = findings => enrich(findings, intel)
  return {
    enrich: add,
    job: ({ db, settings }, { catalog, log }) => {
      const enrichment = createEnrichment({ db, catalog, enrich: add, policy: () => policyOf(settings.now()) })
      return {
        id: 'enrich',
        name: 'Add exploit probability and known exploitation to findings',
        when: () => (settings.now().cve_policy.auto_enrich ? '20 4 * * *' : undefined),
        run: async () => {
          const counts = await enrichment.run()
          if (counts.changed > 0) log.info({ ...counts }, 'findings were enriched')
        },
      }
    },
  }
}
