import { Type } from '@sinclair/typebox'
import { SEVERITIES, type Finding, type Severity } from '../core/findings.ts'
import { STATES, type State } from '../core/manifest.ts'
import { wasScanned } from '../core/review.ts'
import { counts, OrNull, Text, Time } from '../core/schemas.ts'
import type { IndexedManifest, SpeakingRow } from './queries/search.ts'

export type CveCounts = Readonly<Record<Severity, number>>

/** How many findings of each severity there are; every severity is named. */
export function countFindings(findings: readonly Pick<Finding, 'severity'>[]): CveCounts {
  const found = Object.groupBy(findings, one => one.severity)
  return Object.fromEntries(SEVERITIES.map(severity => [severity, found[severity]?.length ?? 0])) as CveCounts
}

/** A version in the words of existing clients of this kind of service. */
export interface VersionFacts {
  readonly arch: string
  readonly distribution: string
  readonly filename: string
  readonly sha256: string
  readonly size_bytes: number
  readonly imported_at: string
  readonly imported_by: string
  readonly status: State
  readonly deps_missing: readonly string[]
  /** Null where no engine answered: that is not the same as none. */
  readonly cve_summary: CveCounts | null
}

export const VERSION_FACTS = {
  arch: Text,
  distribution: Text,
  filename: Text,
  sha256: Text,
  size_bytes: Type.Integer(),
  imported_at: Time,
  imported_by: Text,
  status: Type.String({ enum: [...STATES] }),
  deps_missing: Type.Array(Text),
  cve_summary: OrNull(counts(SEVERITIES)),
}

/** The version of a row. */
export function factsOfRow(row: SpeakingRow): VersionFacts {
  const found = Object.fromEntries(SEVERITIES.map(severity => [severity, row.cve_counts?.[severity] ?? 0]))
  return {
    arch: row.arch,
    distribution: row.codename,
    filename: row.filename ?? '',
    sha256: row.sha256,
    size_bytes: row.size,
    imported_at: row.created_at.toISOString(),
    imported_by: row.uploaded_by,
    status: row.state,
    deps_missing: row.deps_missing,
    cve_summary: row.scanned || row.findings > 0 ? (found as CveCounts) : null,
  }
}

/** The version of a manifest. */
export function factsOf(manifest: IndexedManifest): VersionFacts {
  const { ref, files, findings, reports } = manifest
  const [{ path, blob }] = files
  return {
    arch: ref.arch,
    distribution: ref.codename,
    filename: path,
    sha256: blob.sha256,
    size_bytes: blob.size,
    imported_at: manifest.at,
    imported_by: manifest.by,
    status: manifest.state,
    deps_missing: reports.flatMap(report => report.missing ?? []),
    cve_summary: wasScanned(manifest) || findings.length > 0 ? countFindings(findings) : null,
  }
}
