import type { Catalog } from '../catalog/catalog.ts'
import type { ContentsOf } from '../contents/contents.ts'
import type { Job, Part } from '../core/feature.ts'
import type { Repositories } from '../core/repository.ts'
import type { StepName } from '../core/report.ts'
import type { PackageRef } from '../core/identity.ts'
import { isServed } from '../core/manifest.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { policyOf } from '../core/policy.ts'
import type { Jobs } from '../core/work.ts'
import type { Db } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import type { Pool } from '../files/pool.ts'
import { getFormat } from '../formats/index.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Notices } from '../outbound/notices.ts'
import type { Step } from '../pipeline/subject.ts'
import type { Enrich } from '../pipeline/vulnerabilities.ts'
import type { Metrics } from '../record/metrics.ts'
import type { Settings } from '../settings/store.ts'
import { createBulk, type Bulk } from './bulk/bulk.ts'
import { createSlaWatch, type SlaWatch } from './deadlines.ts'
import { createDecisions, type Decisions } from './decisions.ts'
import { createEnrichment } from './enrich.ts'
import { createRematch, type Rematch } from './rematch.ts'
import { reopenExpired } from './reopen.ts'
import { createRescans, type Rescans } from './rescan.ts'
import { SIGNED } from '../core/signed-debt.ts'
import { createSignedDelivery } from './signed.ts'
import { createUnread, type Unread } from './unread.ts'
import { createSupplierVex, type SupplierVex } from './vex/documents.ts'

export interface ReviewNeeds {
  readonly db: Db
  readonly worker: Jobs
  readonly pool: Pool
  readonly repositories: Pick<Repositories, 'get' | 'find'>
  readonly settings: Settings
  readonly outbox: Outbox
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
  readonly catalog: Catalog
  readonly notices: Notices
  /** The gate's own steps, so that a rescan scans as the upload did. */
  readonly steps: readonly Step[]
  readonly enrich: Enrich
  readonly contents: ContentsOf
}

/** Rescans of packages, and people's decisions on them. */
export interface ReviewPart extends Part {
  readonly rescans: Rescans
  /** `soon()` is for engines whose data have changed. */
  readonly rematch: Rematch
  readonly decisions: Decisions
  /** Decisions about many packages at once. */
  readonly bulk: Bulk
  readonly sla: SlaWatch
  readonly supplierVex: SupplierVex
  /** Reads and judges what a served package carries, where nobody has. May hold it for review. */
  readonly readUnread: (ref: PackageRef) => Promise<void>
}

function stepOf(steps: readonly Step[], name: StepName): Step {
  const step = steps.find(one => one.name === name)
  if (step === undefined) throw new Error(`there is no step ${name} in this build`)
  return step
}

/** The name of these scans in the audit log. */
const READING = 'reading of contents'

const daily = (hour: number, minute: number): string => `${minute} ${hour} * * *`

function reviewJobs(
  needs: ReviewNeeds,
  { sla, rematch, unread, bulk }: Pick<ReviewPart, 'sla' | 'rematch' | 'bulk'> & { readonly unread: Unread },
): Job[] {
  const { db, catalog, settings, clock, log, enrich } = needs
  const enrichment = createEnrichment({ db, catalog, enrich, policy: () => policyOf(settings.now()) })
  return [
    {
      id: 'sla',
      name: 'Tell of deadlines that were missed',
      when: () => daily(settings.now().review.sla_hour, settings.now().review.sla_minute),
      daily: true,
      run: async () => {
        await sla.check(ALL_SEEING)
      },
    },
    {
      id: 'contents',
      name: 'Read what packages carry inside, where nobody has',
      when: () => (settings.now().validation.grype_scan ? '* * * * *' : undefined),
      run: () => unread.ask(),
    },
    {
      id: 'reopen',
      name: 'Reopen what was accepted until now',
      when: () => '*/5 * * * *',
      run: async () => {
        await reopenExpired({ db, catalog, settings, clock })
      },
    },
    {
      id: 'selections',
      name: 'Remove selections of packages that were not decided on',
      when: () => '25 * * * *',
      run: () => bulk.clean(),
    },
    {
      id: 'rematch',
      name: 'Look packages up again with new vulnerability data',
      when: () =>
        settings.now().review.rematch_enabled
          ? daily(settings.now().review.rematch_hour, settings.now().review.rematch_minute)
          : undefined,
      daily: true,
      run: () => rematch.ask(),
    },
    {
      id: 'enrich',
      name: 'Add exploit probability and known exploitation to findings',
      when: () => (settings.now().cve_policy.auto_enrich ? '20 4 * * *' : undefined),
      daily: true,
      run: async () => {
        const counts = await enrichment.run()
        if (counts.changed > 0) log.info({ ...counts }, 'findings were enriched')
      },
    },
  ]
}

/** Rescans, decisions and deadlines over the catalogue and the gate's steps. */
export function composeReview(needs: ReviewNeeds): ReviewPart {
  const { db, pool, settings, outbox, clock, metrics, log, catalog, notices, contents, repositories } = needs
  const steps = {
    vulnerabilities: stepOf(needs.steps, 'vulnerabilities'),
    antivirus: stepOf(needs.steps, 'antivirus'),
    scripts: stepOf(needs.steps, 'scripts'),
    format: stepOf(needs.steps, 'format'),
    dependencies: stepOf(needs.steps, 'dependencies'),
    signature: stepOf(needs.steps, 'signature'),
  }
  const rescans = createRescans({
    db,
    catalog,
    pool,
    formats: getFormat,
    repositories,
    steps,
    settings,
    metrics,
    clock,
    contents,
  })
  const jobs = needs.worker
  const rematch = createRematch({ db, jobs, rescans, clock, log, isOn: () => settings.now().review.rematch_enabled })
  const stopping = new AbortController()
  const unread = createUnread({
    db,
    jobs,
    log,
    contents,
    look: (known, signal) => rescans.rematch(known, signal, READING),
  })
  const decisions = createDecisions({ db, catalog, settings })
  const bulk = createBulk({ db, jobs, settings, clock, decisions })
  const sla = createSlaWatch({ db, outbox, notices, settings, clock })
  return {
    rescans,
    rematch,
    sla,
    decisions,
    bulk,
    supplierVex: createSupplierVex({ db, catalog, settings, contents, repositories, formats: getFormat }),
    async readUnread(ref) {
      const known = await catalog.find(ALL_SEEING, ref)
      if (known === undefined || !isServed(known.state) || (await contents.known(known)) !== undefined) return
      await rescans.rematch(known, stopping.signal, READING)
    },
    jobs: reviewJobs(needs, { sla, rematch, unread, bulk }),
    work: [rematch.work, unread.work, bulk.work],
    debts: { [SIGNED]: { deliver: createSignedDelivery({ db, rescans, repositories, signal: stopping.signal }) } },
    stop: () => stopping.abort(new Error('the service stops')),
  }
}
