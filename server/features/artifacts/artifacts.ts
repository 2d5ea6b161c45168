import { pageOf, type Page, type Paging } from '../../catalog/page.ts'
import { isKnown } from '../../catalog/queries/versions.ts'
import type { ArtifactFilter, NameFilter, PackageRow } from '../../catalog/queries/search.ts'
import { manifestsOf, newestOf, searchArtifacts } from '../../catalog/queries/search.ts'
import { cveStatus, packageDetail, packageItem, type PackageDetail, type PackageItem } from '../../catalog/view.ts'
import { fail } from '../../core/errors.ts'
import { worse, type Severity } from '../../core/findings.ts'
import type { State } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'

/** What a list shows of an artifact; `versions_total` counts versions also where the history is cut. */
interface Head {
  readonly name: string
  readonly format: string
  readonly summary: string
  readonly latest: string
  /** Of the newest version. */
  readonly status: State
  readonly cve_status: string
  /** The worst of all its packages: `blocked`, `pending_review`, `approved`. */
  readonly security_status: string
  readonly severity: Severity | null
  readonly distributions: readonly string[]
  readonly versions_total: number
  readonly updated_at: string
}
export interface ArtifactItem extends Head {
  readonly versions: readonly PackageItem[]
}
export interface Artifact extends Head {
  readonly description: string
  /** The reports and findings of the newest version: clients that read only one version look here. */
  readonly validation: PackageDetail['validation']
  readonly cves: PackageDetail['cves']
  readonly versions: readonly PackageDetail[]
}

// Histories are cut here; `GET /packages/?q=` pages through longer ones.
const LISTED_VERSIONS = 50
const DETAILED_VERSIONS = 200

interface Facet {
  readonly status: State
  readonly severity: Severity | null
  readonly distribution: string
  readonly updated_at: string
}

const WORST_FIRST: readonly State[] = ['quarantined', 'rejected', 'pending_review', 'published']

function facets(versions: readonly Facet[]) {
  const states = new Set(versions.map(version => version.status))
  const worstState = WORST_FIRST.find(state => states.has(state)) ?? 'published'
  const severities = versions.flatMap(version => version.severity ?? [])
  const severity = severities.length === 0 ? null : severities.reduce(worse)
  return {
    security_status: cveStatus(worstState),
    severity,
    distributions: [...new Set(versions.map(version => version.distribution))].sort(),
  }
}

/** A page of artifacts, each with its newest versions. Two statements, however many there are. */
export async function listArtifacts(
  db: Queryable,
  viewer: Viewer,
  { filter, paging }: { readonly filter: ArtifactFilter; readonly paging: Paging },
): Promise<Page<ArtifactItem>> {
  const page = await searchArtifacts(db, viewer, { filter, paging })
  const histories = new Map<string, PackageRow[]>()
  for (const row of await newestOf(db, viewer, { artifacts: page.items, most: LISTED_VERSIONS })) {
    const key = `${row.format} ${row.name}`
    const known = histories.get(key)
    if (known === undefined) histories.set(key, [row])
    else known.push(row)
  }
  const items = page.items.map(({ format, name, summary, latest, versions: count, updated_at }): ArtifactItem => {
    const versions = (histories.get(`${format} ${name}`) ?? []).map(packageItem)
    // deleted between the two statements: still true a moment ago
    const status = versions[0]?.status ?? 'published'
    return {
      name,
      format,
      summary,
      latest,
      status,
      cve_status: cveStatus(status),
      ...facets(versions),
      versions_total: count,
      updated_at: updated_at.toISOString(),
      versions,
    }
  })
  return pageOf(items, page.total, paging)
}

/** @throws package_not_found */
export async function getArtifact(db: Queryable, viewer: Viewer, filter: NameFilter): Promise<Artifact> {
  const versions = (await manifestsOf(db, viewer, { ...filter, most: DETAILED_VERSIONS })).map(packageDetail)
  const newest = versions[0] ?? fail('package_not_found', { name: filter.name })
  return {
    name: newest.name,
    format: newest.format,
    summary: newest.summary,
    description: newest.description,
    latest: newest.version,
    status: newest.status,
    cve_status: newest.cve_status,
    ...facets(versions),
    versions_total: new Set(versions.map(one => one.version)).size,
    updated_at:
      versions
        .map(one => one.updated_at)
        .sort()
        .at(-1) ?? newest.updated_at,
    validation: newest.validation,
    cves: newest.cves,
    versions,
  }
}

/**
 * Refuses with the fitting error: no such name, or no such version of it. @throws package_not_found, version_not_found
 */
export async function refuseMissing(db: Queryable, viewer: Viewer, { name, version }: NameFilter): Promise<never> {
  if (version === undefined || !(await isKnown(db, viewer, name))) fail('package_not_found', { name })
  return fail('version_not_found', { name, version })
}
