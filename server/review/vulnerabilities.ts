import { pageOf, type Page, type Paging } from '../catalog/page.ts'
import {
  countVulnerabilities,
  listAffectedPackages,
  type AffectedPackage,
  type SeverityCounts,
} from '../catalog/queries/affected-packages.ts'
import { countScanned } from '../catalog/queries/counts.ts'
import {
  countAffected,
  findFound,
  listAffected,
  listFirstAffected,
  listFound,
  type Affected,
  type FirstAffected,
  type VulnerabilityCounts,
  type VulnerabilityFilter,
  type VulnerabilityRow,
} from '../catalog/queries/vulnerabilities.ts'
import { fail } from '../core/errors.ts'
import type { Severity } from '../core/findings.ts'
import type { Viewer } from '../core/viewer.ts'
import type { Queryable } from '../db/db.ts'
import { severityOfRank } from '../core/findings.ts'

/** One vulnerability with the packages that have it. */
export interface Vulnerability {
  readonly id: string
  readonly cve_id: string
  readonly severity: Severity
  readonly epss: number | null
  readonly kev: boolean
  readonly fixable: boolean
  readonly summary: string | null
  readonly aliases: readonly string[]
  readonly detected_by: readonly string[]
  readonly fixed_versions: readonly string[]
  /** How many packages have it, how many of them are served, and in how many it is not accepted. */
  readonly package_count: number
  readonly published_count: number
  readonly open_count: number
  readonly first_seen: string
  /** The first ten; `GET /security/vulnerabilities/{cve}` pages through all. */
  readonly packages: readonly Affected[]
}

function viewOf(
  row: VulnerabilityRow,
  count: VulnerabilityCounts | undefined,
  { found, packages }: FirstAffected = { found: undefined, packages: [] },
): Vulnerability {
  return {
    id: row.cve,
    cve_id: row.cve,
    severity: severityOfRank(row.rank) ?? 'negligible',
    epss: row.epss,
    kev: row.kev,
    fixable: row.fixable,
    summary: found?.summary ?? null,
    aliases: found?.aliases ?? [],
    detected_by: found?.detected_by ?? [],
    fixed_versions: [...new Set(packages.flatMap(({ fixed_version }) => fixed_version ?? []))],
    package_count: count?.package_count ?? 0,
    published_count: count?.published_count ?? 0,
    open_count: count?.open_count ?? 0,
    first_seen: row.first_seen.toISOString(),
    packages,
  }
}

/** A page of vulnerabilities in all packages that the filter selects, each once. */
export async function listVulnerabilities(
  db: Queryable,
  viewer: Viewer,
  { filter, paging, sort }: { readonly filter: VulnerabilityFilter; readonly paging: Paging; readonly sort: string },
): Promise<Page<Vulnerability>> {
  const { rows, total } = await listFound(db, viewer, { filter, paging, sort })
  const cves = rows.map(({ cve }) => cve)
  const [counts, affected] = await Promise.all([
    countAffected(db, viewer, { cves, filter }),
    listFirstAffected(db, viewer, { cves, filter }),
  ])
  return pageOf(
    rows.map(row => viewOf(row, counts.get(row.cve), affected.get(row.cve))),
    total,
    paging,
  )
}

/** What is known about vulnerabilities in all packages, whatever a list of them is narrowed to. */
export interface VulnerabilityOverview {
  /** Vulnerabilities by severity, each counted once. */
  readonly summary: SeverityCounts
  /** How many packages an engine answered for. */
  readonly packages_scanned: number
  /** The packages with findings, the worst 200. */
  readonly packages: readonly AffectedPackage[]
}

const AFFECTED_SHOWN = 200

/** Three statements, however many packages there are. */
export async function readOverview(db: Queryable, viewer: Viewer): Promise<VulnerabilityOverview> {
  const [summary, scanned, packages] = await Promise.all([
    countVulnerabilities(db, viewer),
    countScanned(db, viewer),
    listAffectedPackages(db, viewer, { most: AFFECTED_SHOWN }),
  ])
  return { summary, packages_scanned: scanned, packages }
}

export interface VulnerabilityDetail extends Vulnerability {
  readonly total: number
  readonly page: number
  readonly per_page: number
  readonly pages: number
}

/** One vulnerability with a page of the packages that have it. @throws cve_not_found */
export async function getVulnerability(
  db: Queryable,
  viewer: Viewer,
  { cve: asked, paging }: { readonly cve: string; readonly paging: Paging },
): Promise<VulnerabilityDetail> {
  const row = (await findFound(db, viewer, asked)) ?? fail('cve_not_found', { cve: asked.slice(0, 100) })
  const { cve } = row
  const [counts, first, { rows, total }] = await Promise.all([
    countAffected(db, viewer, { cves: [cve] }),
    listFirstAffected(db, viewer, { cves: [cve] }),
    listAffected(db, viewer, { cve, paging }),
  ])
  const { items, ...numbers } = pageOf(rows, total, paging)
  return { ...viewOf(row, counts.get(cve), first.get(cve)), packages: items, ...numbers }
}
