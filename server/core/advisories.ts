import type { Distribution } from './repository.ts'
import type { Severity } from './findings.ts'

/** A published package to look up in advisories; versions as its format writes them. */
export interface OfferedPackage {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly source: string
  readonly source_version: string
}

/** An announcement of fixes, with those of its packages that a distribution offers. */
export interface FixAdvisory {
  /** `ALSA-2026:1234` */
  readonly id: string
  readonly kind: 'security' | 'bugfix' | 'enhancement'
  /** Absent where no source names it. */
  readonly severity?: Severity
  /** One line. */
  readonly title: string
  /** When it was last changed, ISO 8601. */
  readonly at: string
  /** The source of the data: `osv/AlmaLinux`. */
  readonly from: string
  readonly cves: readonly string[]
  /** Addresses. */
  readonly references: readonly string[]
  readonly packages: readonly OfferedPackage[]
}

/** Finds the advisories that packages of a distribution fix, sorted by id. */
export type FindFixes = (
  distribution: Distribution,
  packages: AsyncIterable<OfferedPackage>,
) => Promise<readonly FixAdvisory[]>
