import { pageOf, type Page, type Paging } from '../../catalog/search.ts'
import type { Finding, Severity } from '../../core/findings.ts'
import { worst } from '../../core/findings.ts'
import type { State } from '../../core/manifest.ts'
import { decide, hardestAction, type Action, type CvePolicy, type Report, type StepName } from '../../core/policy.ts'
import type { Queryable } from '../../db/db.ts'

/** A package that another policy would move. */
export interface Move {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly distribution: string
  readonly format: string
  readonly from: State
  readonly to: State
  /** The worst of its findings that count, and what the policy says to all of them. */
  readonly severity: Severity | null
  readonly action: Action
  readonly cves: readonly string[]
}

export interface Preview extends Page<Move> {
  /** Packages whose findings were looked at. */
  readonly checked: number
  readonly by_move: { readonly to_review: number; readonly to_published: number }
}

type OpenFinding = Pick<Finding, 'id' | 'severity' | 'epss' | 'kev' | 'fixed_in'>
interface Row {
  readonly id: number; readonly name: string; readonly version: string; readonly arch: string; readonly distribution: string; readonly format: string; readonly state: State
  readonly approved: boolean; readonly findings: readonly OpenFinding[]; readonly others: readonly Pick<Report, 'step' | 'outcome'>[]
}

const BATCH = 2_000
const SHOWN_CVES = 10

/**
 * Served and waiting packages with what counts in them, and waiting ones whatever they wait for. Accepted findings and
 * approvals count as they stand.
 */
function readBatch(db: Queryable, after: number): Promise<Row[]> {
  return db.query<Row>(`
    select p.id, p.name, p.version, p.arch, p.codename as distribution, p.format, p.state,
      coalesce(p.manifest->'decision'->>'action' = 'approve', false) as approved,
      coalesce((select jsonb_agg(jsonb_build_object('id', f.cve, 'package', f.component, 'severity', f.severity, 'epss', f.epss, 'kev', f.kev, 'fixed_in', f.fixed_in) order by f.rank desc)
        from finding f where f.package_id = p.id and not f.accepted), '[]') as findings,
      coalesce((select jsonb_agg(jsonb_build_object('step', r->>'step', 'outcome', r->>'outcome'))
        from jsonb_array_elements(p.manifest->'reports') as r where p.state = 'pending_review'), '[]') as others
    from package p where p.id > $1 and (p.state = 'pending_review' or (p.state = 'published' and p.open_count > 0)) order by p.id limit ${BATCH}`, [after])
}

const cleaned = (findings: readonly OpenFinding[]): Finding[] => findings.map(({ id, severity, epss, kev, fixed_in }) => ({
  id, severity, package: '', detected_by: [], ...typeof epss === 'number' ? { epss } : {}, ...kev === true ? { kev } : {}, ...typeof fixed_in === 'string' ? { fixed_in } : {},
}))

/** As `reconsider` in core/review.ts, from rows instead of manifests. */
function stateUnder(row: Row, policy: CvePolicy, findings: readonly Finding[]): State {
  const isSettled = row.state === 'published' || row.approved
  const others = isSettled ? [] : row.others.filter(({ step }) => step !== 'vulnerabilities')
  const scan = row.others.find(({ step }) => step === 'vulnerabilities')
  const counted: Report = { step: 'vulnerabilities', outcome: !isSettled && scan?.outcome === 'unavailable' ? 'unavailable' : 'ok', verdict: '', said: '', findings }
  return decide([...others.map(({ step, outcome }): Report => ({ step: step as StepName, outcome, verdict: '', said: '' })), counted], policy, 'retro').state
}

/**
 * Which packages a policy that is not saved would move when they are looked at again. Nothing is changed. What is in quarantine
 * or rejected stays there under any policy, until somebody decides.
 * @param signal  ends the walk when the caller is gone
 */
export async function previewPolicy(db: Queryable, policy: CvePolicy, paging: Paging, signal: AbortSignal): Promise<Preview> {
  const first = (paging.page - 1) * paging.perPage
  const items: Move[] = []
  let checked = 0, toReview = 0, toPublished = 0
  for (let rows = await readBatch(db, 0); rows.length > 0; rows = await readBatch(db, rows.at(-1)?.id ?? 0)) {
    signal.throwIfAborted()
    for (const row of rows) {
      checked++
      const findings = cleaned(row.findings)
      const to = stateUnder(row, policy, findings)
      if (to === row.state) continue
      const n = toReview + toPublished
      if (to === 'published') toPublished++
      else toReview++
      if (n < first || items.length >= paging.perPage) continue
      const { name, version, arch, distribution, format, state } = row
      items.push({
        name, version, arch, distribution, format, from: state, to, severity: worst(findings) ?? null, action: hardestAction(findings, policy),
        cves: findings.slice(0, SHOWN_CVES).map(({ id }) => id),
      })
    }
  }
  return { ...pageOf(items, toReview + toPublished, paging), checked, by_move: { to_review: toReview, to_published: toPublished } }
}
