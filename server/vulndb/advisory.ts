import type { Severity } from '../core/findings.ts'
import type { Ecosystem } from './match/ecosystems.ts'
import type { OrderId } from './versions/orders.ts'

/**
 * Versions from `from` on ('0': from the first) up to `to`, or without end when `to` is undefined. `to` itself counts
 * as affected when `closed`, `from` itself does not when `after`.
 */
export interface Span {
  readonly from: string
  readonly to?: string
  readonly closed?: true
  readonly after?: true
}

/** An advisory; it may concern many packages. */
export interface Advisory {
  /** `DSA-5678-1`, `GHSA-…`, `CVE-…` where the feed knows no other name. */
  readonly id: string
  /** The source it was imported from: `osv/Debian`, `debian/tracker`. */
  readonly source: string
  /**
   * When several advisories concern one CVE and package, the highest rank decides: 3 the distribution's own table, 2
   * per CVE, 1 per update.
   */
  readonly rank: 1 | 2 | 3
  readonly cves: readonly string[]
  /** Other names of the same vulnerability. Only these join advisories. */
  readonly aliases?: readonly string[]
  readonly severity?: Severity
  readonly vectors?: readonly string[]
  readonly summary?: string
  readonly references?: readonly string[]
  /** ISO 8601. */
  readonly modified?: string
  /** It repairs an earlier update: what that one fixed still counts as fixed by it. */
  readonly regression?: true
}

/** What an advisory says about one package in one ecosystem. */
export interface Row {
  readonly name: string
  /** Whether `name` is a source package or an installed one. */
  readonly by: 'source' | 'binary'
  readonly spans: readonly Span[]
  /** Affected versions outside the spans, as they are written. */
  readonly versions?: readonly string[]
  /** Where it differs from the ecosystem's own. */
  readonly order?: OrderId
  readonly severity?: Severity
  /** The distribution's rating of single CVEs of the advisory. */
  readonly ratings?: Readonly<Record<string, Severity>>
  /**
   * `name:stream` of the modules that the fix was built in; empty when the fix is modular and the stream is unknown.
   */
  readonly modules?: readonly string[]
  /** Only these architectures. */
  readonly archs?: readonly string[]
  /** The package is known not to be affected: overrides advisories of a lower rank. */
  readonly safe?: true
  /** The vendor's own sentence, about a fix that is not there or why it is not affected. */
  readonly said?: string
  /** Versions of the source that the release has today, affected or not. */
  readonly ships?: readonly string[]
}

const BUGFIX = /^(?:[A-Z]{2}(?:BA|EA)|(?:open)?SUSE-[RFO]U)-/

/** `ALBA-2026:1` fixes a bug, `RHEA-2026:1` adds a feature: without a CVE there is no vulnerability. */
export function isSecurity({ id, cves }: Pick<Advisory, 'id' | 'cves'>): boolean {
  return cves.length > 0 || !BUGFIX.test(id)
}

/** One row on its way into the tables. */
export interface Entry {
  readonly ecosystem: Ecosystem
  readonly advisory: Advisory
  readonly row: Row
}

/** Why parts of a feed are not in the tables, and how often. */
export type Skipped =
  'withdrawn' | 'malformed' | 'no_introduced' | 'bad_version' | 'other_ecosystem' | 'no_package' | 'not_security'
export type SkipCounts = Partial<Record<Skipped, number>>

/** What feeds say of a CVE, wherever it is. */
export interface CveRating {
  /** Vectors of advisories about it. */
  readonly vectors?: readonly string[]
  /** Vectors of the NVD. */
  readonly nvd?: readonly string[]
  readonly ubuntu?: Severity
  readonly red_hat?: Severity
}

/** Where importers put their rows. */
export interface Sink {
  add(entry: Entry): void
  skip(why: Skipped): void
  /** The vector of a CVE, for advisories without one. */
  vector(cve: string, vectors: readonly string[]): void
  /** What others than advisories say of a CVE. */
  rate(cve: string, rating: Omit<CveRating, 'vectors'>): void
}

const CVE = /(?:^|-)(CVE-\d{4}-\d{4,})$/

/** `CVE-2024-1234` from itself or from `UBUNTU-CVE-2024-1234` and the like; undefined for other ids. */
export function cveOf(id: string): string | undefined {
  return CVE.exec(id)?.[1]
}

/** Every CVE in a text, once, in its order. */
export function cvesIn(text: string): string[] {
  return [...new Set(text.match(/\bCVE-\d{4}-\d{4,}\b/g))]
}
