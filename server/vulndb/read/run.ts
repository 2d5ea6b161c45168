import type { Ecosystem } from '../match/ecosystems.ts'
import type { Meta, SourceFacts } from '../store/generation-meta.ts'
import type { Tables } from '../store/tables.ts'
import type { Orders } from '../versions/orders.ts'
import type { Recognised } from './recognise.ts'

/** One file of an upstream, or a bundle of them. */
export interface ImportFile {
  readonly path: string
  /** Its original name, or its place in a bundle: names the source where the content does not. */
  readonly label: string
  /** The date that its upstream or a bundle gives it. ISO 8601. */
  readonly as_of?: string
  /** It holds everything of its source: loaded records of that source that are not in it are removed. */
  readonly whole?: boolean
  /** A codename, for updateinfo.xml that does not name its distribution. */
  readonly distribution?: string
}

/** What is to be imported, and under which rules. */
export interface ImportJob {
  /** `/repos/security` */
  readonly security: string
  readonly files: readonly ImportFile[]
  /** Accept older data than those loaded. */
  readonly force: boolean
  /** Armoured keys, one of which must have signed a bundle; empty: signatures are not checked. */
  readonly key: string
  readonly now: string
  /** Where the advisories of our distributions lie, by codename. */
  readonly ecosystems: Readonly<Record<string, Ecosystem>>
}

/** A file with its digest and its kind. */
export type HashedFile = ImportFile & { readonly sha256: string; readonly is: Recognised }

/** What has been read of one source. */
export interface Loaded {
  readonly name: string
  readonly kind: SourceFacts['kind']
  readonly whole: boolean
  readonly dated: boolean
  as_of: string
  records: number
  rows: number
  skipped: SourceFacts['skipped']
  readonly files: string[]
}

/** Where an OSV record was read, and when it was changed: ISO 8601, or '' when unknown. */
export interface ReadRecord {
  readonly modified: string
  readonly source: string
}

/** One import while it runs. */
export interface Run {
  readonly job: ImportJob
  readonly orders: Orders
  readonly tables: Tables
  readonly folder: string
  readonly before: Meta | undefined
  readonly loaded: Map<string, Loaded>
  /** The newest OSV record of each id that was read: it replaces those of the same id. */
  readonly ids: Map<string, ReadRecord>
  intel: Meta['intel']
  /** What this import brought. */
  fresh: Meta['intel']
  readonly notes: string[]
}

/** The later of two ISO 8601 dates. */
export const later = (a: string, b: string): string => (a > b ? a : b)

/** Dates are claims; one that lies in the future says nothing. */
function believed(date: string | undefined, now: string): string {
  const at = new Date(date ?? '')
  return Number.isNaN(at.getTime()) || at.toISOString() > now ? '' : at.toISOString()
}

interface Note {
  readonly name: string
  readonly kind: SourceFacts['kind']
  readonly file: ImportFile & { readonly sha256: string }
  /** What the content says; '' where it has no dates. */
  readonly as_of: string
  readonly records: number
  readonly taken?: Taken
}

/** Rows that were taken from a file, and what was passed over. */
export type Taken = Pick<Loaded, 'rows' | 'skipped'>

/** Both together, counted by reason. */
export function sum(a: Taken, b: Taken): Taken {
  const skipped: Record<string, number> = { ...a.skipped }
  for (const [why, count] of Object.entries(b.skipped)) skipped[why] = (skipped[why] ?? 0) + count
  return { rows: a.rows + b.rows, skipped }
}

/** Adds what a file brought to its source. */
export function note(run: Run, { name, kind, file, as_of, records, taken = run.tables.taken() }: Note): void {
  const { rows, skipped } = taken
  const known = run.loaded.get(name)
  const asOf = believed(as_of, run.job.now) || believed(file.as_of, run.job.now)
  if (known === undefined) {
    run.loaded.set(name, {
      name,
      kind,
      whole: file.whole === true,
      dated: file.whole === true || file.as_of !== undefined,
      as_of: asOf,
      records,
      rows,
      skipped,
      files: [file.sha256],
    })
    return
  }
  known.as_of = later(known.as_of, asOf)
  known.records = kind === 'kev' || kind === 'epss' || kind === 'jar-index' ? records : known.records + records
  Object.assign(known, sum(known, taken))
  known.files.push(file.sha256)
}
