import type { Catalog } from '../catalog/catalog.ts'
import type { Judgement } from '../catalog/change.ts'
import { listWithFindings } from '../catalog/queries/rescans.ts'
import type { IndexedManifest } from '../catalog/queries/search.ts'
import { isRefusal } from '../core/errors.ts'
import type { Finding } from '../core/findings.ts'
import type { Iso } from '../core/identity.ts'
import { transition, type Manifest } from '../core/manifest.ts'
import { asksForReview, openFindings } from '../core/review.ts'
import type { CvePolicy } from '../core/policy.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import type { Queryable } from '../db/db.ts'

/** The result of one run over all packages with findings. */
export interface EnrichmentCounts {
  readonly looked: number
  readonly changed: number
  readonly held: number
}

export interface EnrichmentDeps {
  readonly db: Queryable
  readonly catalog: Pick<Catalog, 'change'>
  /** Adds what is known about exploitation today. */
  readonly enrich: (findings: readonly Finding[]) => Promise<{ readonly findings: readonly Finding[] }>
  readonly policy: () => CvePolicy
}

type Extra = Pick<Finding, 'epss' | 'epss_percentile' | 'kev' | 'kev_due'>

// every score moves a little every day; a manifest is written again only for what people notice or the policy depends
// on
const STEPS = 100
const noticed = ({ epss, kev, kev_due }: Finding, threshold: number): string =>
  JSON.stringify([
    epss === undefined ? null : Math.round(epss * STEPS),
    epss !== undefined && epss >= threshold,
    kev ?? null,
    kev_due ?? null,
  ])

/** Merges new data into findings by their names: the row may have changed since they were looked up. */
function laidOver(
  findings: readonly Finding[],
  enriched: readonly Finding[],
  { epss_threshold = 1 }: CvePolicy,
): { readonly findings: readonly Finding[]; readonly isOther: boolean } {
  const byName = new Map(enriched.map(finding => [`${finding.package}\n${finding.id}`, finding]))
  let isOther = false
  const laid = findings.map(finding => {
    const now = byName.get(`${finding.package}\n${finding.id}`)
    if (now === undefined || noticed(now, epss_threshold) === noticed(finding, epss_threshold)) return finding
    isOther = true
    const { epss: _, epss_percentile: __, kev: ___, kev_due: ____, ...rest } = finding
    const extra: Extra = {
      ...(now.epss === undefined ? {} : { epss: now.epss }),
      ...(now.epss_percentile === undefined ? {} : { epss_percentile: now.epss_percentile }),
      ...(now.kev === undefined ? {} : { kev: now.kev }),
      ...(now.kev_due === undefined ? {} : { kev_due: now.kev_due }),
    }
    return { ...rest, ...extra }
  })
  return { findings: laid, isOther }
}

const names = (findings: readonly Finding[]): string =>
  `${findings
    .slice(0, 10)
    .map(({ id }) => id)
    .join(', ')}${findings.length > 10 ? ` and ${findings.length - 10} more` : ''}`

/**
 * Updates the findings of a package. Holds a served package when exploitation now makes the policy ask for a review;
 * everything else only changes numbers.
 */
function judgeEnriched(
  before: Manifest,
  enriched: readonly Finding[],
  { policy, now }: { readonly policy: CvePolicy; readonly now: Iso },
): Judgement | undefined {
  const { findings, isOther } = laidOver(before.findings, enriched, policy)
  if (!isOther) return undefined
  const reports = before.reports.map(report =>
    report.findings === undefined
      ? report
      : { ...report, findings: laidOver(report.findings, enriched, policy).findings },
  )
  const after: Manifest = { ...before, findings, reports }
  const risen = openFindings(after, now).filter(
    finding =>
      asksForReview([finding], policy) &&
      !before.findings.some(
        known => known.id === finding.id && known.package === finding.package && asksForReview([known], policy),
      ),
  )
  if (before.state !== 'published' || risen.length === 0) return { after }
  const why = `Exploitation is more likely now, or known: ${names(risen)}.`
  return {
    after: {
      ...after,
      state: transition(before.state, 'hold'),
      changed_at: now,
      review: { ...after.review, held_for: why },
    },
    fact: {
      action: 'RESCAN',
      result: 'WARNING',
      facts: { kind: 'package.held', from_state: before.state, to_state: 'pending_review', reason: why },
    },
  }
}

const BATCH = 200

/** Updates EPSS and KEV of every package, at night and when they changed. */
export function createEnrichment({ db, catalog, enrich, policy }: EnrichmentDeps): {
  run(): Promise<EnrichmentCounts>
} {
  async function enrichOne({ ref, findings, state }: IndexedManifest): Promise<'same' | 'changed' | 'held'> {
    const enriched = (await enrich(findings)).findings
    if (!laidOver(findings, enriched, policy()).isOther) return 'same'
    const { outcome, manifest } = await catalog.change(
      {
        kind: 'review',
        ref,
        judge: (before, now) => judgeEnriched(before, enriched, { policy: policy(), now }),
      },
      { name: 'enrichment' },
    )
    return outcome !== 'changed' ? 'same' : manifest.state === state ? 'changed' : 'held'
  }

  return {
    async run() {
      const counts = { looked: 0, changed: 0, held: 0 }
      for (let last = 0; ;) {
        const rows = await listWithFindings(db, ALL_SEEING, { after: last, limit: BATCH })
        if (rows.length === 0) return counts
        for (const { id, manifest } of rows) {
          last = id
          counts.looked++
          const done = await enrichOne(manifest).catch((error: unknown) => {
            if (isRefusal(error, 'version_not_found')) return 'same' as const // deleted meanwhile
            throw error
          })
          if (done !== 'same') counts.changed++
          if (done === 'held') counts.held++
        }
      }
    },
  }
}
