import type { Distribution } from './repository.ts'
import type { Severity } from './findings.ts'

/** A published package as it is looked for in advisories; versions as its format writes them. */
export interface OfferedPackage {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly source: string
  readonly source_version: string
}

/** An announcement that packages mend something, with those of them that a distribution offers. */
export interface FixAdvisory {
  /** `ALSA-2026:1234` */
  readonly id: string
  readonly kind: 'security' | 'bugfix' | 'enhancement'
  /** Absent where nobody says. */
  readonly severity?: Severity
  /** One line. */
  readonly title: string
  /** When it was last changed, ISO 8601. */
  readonly at: string
  /** Which data it is from: `osv/AlmaLinux`. */
  readonly from: string
  readonly cves: readonly string[]
  /** Addresses. */
  readonly references: readonly string[]
  readonly packages: readonly OfferedPackage[]
}

/** Looks up which advisories the packages of a distribution are the answer to, sorted by id. */
export type FindFixes = (
  distribution: Distribution,
  packages: AsyncIterable<OfferedPackage>,
) => Promise<readonly FixAdvisory[]>
