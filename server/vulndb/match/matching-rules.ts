import type { Denied, Finding } from '../../core/findings.ts'
import type { Advisory, Span } from '../advisory.ts'
import type { StoredRow } from '../store/shards.ts'
import type { OrderId, VersionOrder } from '../versions/orders.ts'
import type { Ecosystem, Family } from './ecosystems.ts'

/** A name with its version. */
export interface Versioned {
  readonly name: string
  readonly version: string
}

/** The package to match. Without a source it is its own source. */
export interface PackageQuery extends Versioned {
  readonly ecosystem: Ecosystem
  /** With its epoch, as its format writes it. */
  readonly version: string
  readonly source?: Versioned
  readonly arch?: string
  /** `name:stream:version:context` of the module it was built in (RPM). */
  readonly module?: string
}

export interface Matched {
  readonly findings: readonly Finding[]
  /** What a vendor denies of this package; `isDisputed` where another record names it. */
  readonly denied?: readonly (Denied & { readonly isDisputed: boolean })[]
  /** The ecosystem's order cannot read the version, so ranges were of no use. */
  readonly isUnreadable: boolean
}

/** A query, read by the rules of its ecosystem. */
export interface Reading {
  readonly family: Family
  readonly kind: Kind
  readonly order: VersionOrder
  readonly query: PackageQuery
  /** The source that advisories name. */
  readonly source: Versioned
  /** The module streams it comes from (RPM); empty when unknown. */
  readonly streams: readonly string[]
}

export type Answer = 'affected' | 'fine' | 'unreadable'

/** What one row says about the package. */
export interface Judged {
  readonly row: StoredRow
  readonly answer: Answer
}

/** The names under which one vulnerability is known, by one of them. */
export type ClassOf = (id: string) => readonly string[]

/** How packages of one kind are matched: what differs between Debian, RPM, Alpine and languages. All of it is pure. */
export interface Kind {
  /** The source that advisories name, and the version to compare with theirs. */
  sourceOf(own: Versioned, query: PackageQuery): Versioned
  /** The version to compare with a row that names a source. */
  sourceVersion(row: StoredRow, reading: Reading): string
  /** Whether a row of the right name and architecture concerns this build. */
  concerns(row: StoredRow, reading: Reading): boolean
  /** The spans to compare with the version of `sourceVersion`, or with the package's own. */
  spansOf(row: StoredRow): readonly Span[]
  /** Another reading of a version that a row does not affect; undefined for none. */
  otherReading(version: string, row: StoredRow, order: OrderId): string | undefined
  /** Corrects the answers of single rows by those of others. */
  settle(judged: readonly Judged[]): readonly Judged[]
  /** The rows that decide about one vulnerability. */
  deciding(judged: readonly Judged[]): readonly Judged[]
  /** Joins the names of one vulnerability. */
  classesOf(advisories: readonly Advisory[]): ClassOf
}
