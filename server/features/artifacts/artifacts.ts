import { pageOf, type Page, type Paging } from '../../catalog/page.ts'
import { isKnown } from '../../catalog/queries/versions.ts'
import type { NameFilter } from '../../catalog/queries/names.ts'
import type { ArtifactFilter, ArtifactRow, IndexedManifest } from '../../catalog/queries/search.ts'
import { findLatest, listTold, manifestsOf } from '../../catalog/queries/names.ts'
import { latestOf, newestOf, searchArtifacts } from '../../catalog/queries/search.ts'
import { factsOf, factsOfRow, type VersionFacts } from '../../catalog/version-facts.ts'
import {
  cveStatus,
  packageDetail,
  packageItem,
  stepView,
  type PackageDetail,
  type PackageItem,
  type StepView,
} from '../../catalog/view.ts'
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
  /** The newest version that is served; where none is, the newest. */
  readonly latest: string
  readonly latest_version: string
  /** Of the latest. */
  readonly status: State
  readonly cve_status: string
  /** The newest version that is held or refused, where it is newer than the latest. */
  readonly newer: { readonly version: string; readonly status: State } | null
  /** The worst of all its packages: `blocked`, `pending_review`, `approved`. */
  readonly security_status: string
  readonly severity: Severity | null
  readonly distributions: readonly string[]
  readonly versions_total: number
  readonly updated_at: string
}
export interface ArtifactItem extends Head, VersionFacts {
  readonly description: string
  readonly section: string
  /** Newest first; those of the newest 50 packages. */
  readonly versions: readonly string[]
  readonly packages: readonly PackageItem[]
}
/** One act on a package, in the words of existing clients. */
interface Act {
  readonly timestamp: string
  readonly action: 'UPLOAD' | 'SECURITY_DECISION'
  readonly user: string
  readonly result: 'SUCCESS'
  readonly package: string
  readonly version: string
  readonly detail: string
  readonly validation_steps: readonly StepView[]
  readonly cve_status: string
  readonly repo_format: string
}
export interface Artifact extends Head {
  readonly info: {
    /** Of a version in several places the one that is served. */
    readonly versions: Readonly<Record<string, VersionFacts>>
    readonly latest: string
    readonly description: string
    readonly section: string
  }
  /** Uploads of the versions below and decisions about them, newest first. */
  readonly history: readonly Act[]
  /** Of the latest version. */
  readonly validation_steps: readonly StepView[]
  readonly description: string
  /** The reports and findings of the latest version: clients that read only one version look here. */
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

function headOf({ name, format, ...told }: ArtifactRow, all: readonly Facet[]): Head {
  const { newer, newer_state } = told
  return {
    name,
    format,
    summary: told.summary,
    latest: told.latest,
    latest_version: told.latest,
    status: told.state,
    cve_status: cveStatus(told.state),
    newer: newer === null || newer_state === null ? null : { version: newer, status: newer_state },
    ...facets(all),
    versions_total: told.versions,
    updated_at: told.updated_at.toISOString(),
  }
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

/** A page of artifacts, each with its newest versions. Three statements, however many there are. */
export async function listArtifacts(
  db: Queryable,
  viewer: Viewer,
  { filter, paging }: { readonly filter: ArtifactFilter; readonly paging: Paging },
): Promise<Page<ArtifactItem>> {
  const page = await searchArtifacts(db, viewer, { filter, paging })
  const of = { artifacts: page.items, distribution: filter.distribution }
  const keyOf = ({ format, name }: Pick<ArtifactRow, 'format' | 'name'>): string => `${format} ${name}`
  const [newest, latest] = await Promise.all([
    newestOf(db, viewer, { ...of, most: LISTED_VERSIONS }),
    latestOf(db, viewer, of),
  ])
  const histories = Map.groupBy(newest, keyOf)
  const speaking = new Map(latest.map(row => [keyOf(row), row]))
  const items = page.items.flatMap((artifact): ArtifactItem[] => {
    const packages = (histories.get(keyOf(artifact)) ?? []).map(packageItem)
    const row = speaking.get(keyOf(artifact))
    // deleted between the statements
    if (row === undefined) return []
    const versions = [...new Set(packages.map(({ version }) => version))]
    return [
      {
        ...headOf(artifact, packages),
        ...factsOfRow(row),
        description: row.description,
        section: row.section ?? '',
        versions,
        packages,
      },
    ]
  })
  return pageOf(items, page.total, paging)
}

function infoOf(manifests: readonly IndexedManifest[], latest: PackageDetail): Artifact['info'] {
  const versions: Record<string, VersionFacts> = {}
  for (const manifest of manifests) versions[manifest.ref.version] ??= factsOf(manifest)
  return { versions, latest: latest.version, description: latest.description, section: latest.section ?? '' }
}

function historyOf(manifests: readonly IndexedManifest[]): Act[] {
  return manifests
    .flatMap((manifest): Act[] => {
      const { ref, state, reports, review, by, at } = manifest
      const about = {
        result: 'SUCCESS' as const,
        package: ref.name,
        version: ref.version,
        cve_status: cveStatus(state),
        repo_format: ref.format,
      }
      return [
        {
          timestamp: at,
          action: 'UPLOAD',
          user: by,
          ...about,
          detail: `To ${ref.codename}, ${ref.arch}.`,
          validation_steps: reports.map(stepView),
        },
        ...(review?.history ?? []).map(decision => ({
          timestamp: decision.at,
          action: 'SECURITY_DECISION' as const,
          user: decision.by,
          ...about,
          detail: `${decision.decision}: ${decision.justification}`,
          validation_steps: [],
        })),
      ]
    })
    .sort((a, b) => (a.timestamp < b.timestamp ? 1 : a.timestamp > b.timestamp ? -1 : 0))
}

/** @throws package_not_found */
export async function getArtifact(db: Queryable, viewer: Viewer, filter: NameFilter): Promise<Artifact> {
  const [manifests, told, speaking] = await Promise.all([
    manifestsOf(db, viewer, { ...filter, most: DETAILED_VERSIONS }),
    listTold(db, viewer, filter),
    findLatest(db, viewer, filter),
  ])
  const mine = told.find(({ format }) => format === speaking?.ref.format)
  if (mine === undefined || speaking === undefined) return fail('package_not_found', { name: filter.name })
  const versions = manifests.map(packageDetail)
  const latest = packageDetail(speaking)
  return {
    ...headOf(mine, versions),
    info: infoOf(manifests, latest),
    history: historyOf(manifests),
    validation_steps: latest.validation.steps,
    description: latest.description,
    validation: latest.validation,
    cves: latest.cves,
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
