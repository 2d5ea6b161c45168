import type { Severity } from '../core/findings.ts'
import type { Ecosystem } from './match/ecosystems.ts'
import type { OrderId } from './versions/orders.ts'

/**
 * Versions from `from` on ('0': from the first) up to `to`: undefined for all that follow; the version itself belongs
 * to it when `closed`.
 */
export interface Span {
  readonly from: string
  readonly to?: string
  readonly closed?: true
}

/** What is said about many packages at once. */
export interface Advisory {
  /** `DSA-5678-1`, `GHSA-…`, `CVE-…` where the feed knows no other name. */
  readonly id: string
  /** Which import it came in with: `osv/Debian`, `debian/tracker`. */
  readonly source: string
  /**
   * Of several that speak of one CVE and package, the highest decides: 3 the distribution's own table, 2 per CVE, 1 per
   * update.
   */
  readonly rank: 1 | 2 | 3
  readonly cves: readonly string[]
  /** Other names of the same vulnerability; only they join advisories. */
  readonly aliases?: readonly string[]
  readonly severity?: Severity
  readonly vectors?: readonly string[]
  readonly summary?: string
  readonly references?: readonly string[]
  /** ISO 8601. */
  readonly modified?: string
  /** It repairs an earlier update: what that one fixed stays fixed by it. */
  readonly regression?: true
}

/** What an advisory says about one package in one ecosystem. */
export interface Row {
  readonly name: string
  /** Whether `name` is that of a source package or of an installed one. */
  readonly by: 'source' | 'binary'
  readonly spans: readonly Span[]
  /** Affected versions that no span holds, as they are written. */
  readonly versions?: readonly string[]
  /** Where it is not the ecosystem's own. */
  readonly order?: OrderId
  readonly severity?: Severity
  /** The distribution's rating of single CVEs of the advisory. */
  readonly ratings?: Readonly<Record<string, Severity>>
  /** `name:stream` of the modules that the fix was built in; empty when it is modular and nobody says which. */
  readonly modules?: readonly string[]
  /** Only these architectures. */
  readonly archs?: readonly string[]
  /** The package is known not to be affected: silences advisories of a lower rank. */
  readonly safe?: true
}

const BUGFIX = /^(?:[A-Z]{2}(?:BA|EA)|(?:open)?SUSE-[RFO]U)-/

/** `ALBA-2026:1` mends a bug, `RHEA-2026:1` adds something: where they name no CVE there is no vulnerability. */
export function isSecurity({ id, cves }: Pick<Advisory, 'id' | 'cves'>): boolean {
  return cves.length > 0 || !BUGFIX.test(id)
}

/** One row on its way into the tables. */
export interface Entry {
  readonly ecosystem: Ecosystem
  readonly advisory: Advisory
  readonly row: Row
}

/** Why something of a feed is not in the tables, and how often. */
export type Skipped =
  'withdrawn' | 'malformed' | 'no_introduced' | 'bad_version' | 'other_ecosystem' | 'no_package' | 'not_security'
export type SkipCounts = Partial<Record<Skipped, number>>

/** What importers put their rows into. */
export interface Sink {
  add(entry: Entry): void
  skip(why: Skipped): void
  /** A CVE's vector, for advisories that bring none. */
  vector(cve: string, vectors: readonly string[]): void
}

const CVE = /(?:^|-)(CVE-\d{4}-\d{4,})$/

/** `CVE-2024-1234` of itself or of `UBUNTU-CVE-2024-1234` and its kin; undefined for other ids. */
export function cveOf(id: string): string | undefined {
  return CVE.exec(id)?.[1]
}

/** Every CVE named in a text, once, in its order. */
export function cvesIn(text: string): string[] {
  return [...new Set(text.match(/\bCVE-\d{4}-\d{4,}\b/g))]
}
