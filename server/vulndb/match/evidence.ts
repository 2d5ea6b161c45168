import type { Evidence } from '../../core/findings.ts'
import type { Span } from '../advisory.ts'
import type { StoredRow } from '../store/shards.ts'
import type { VersionOrder } from '../versions/orders.ts'
import { isWithin } from './ranges.ts'

/** `from 2.0 on and before 2.15.0` */
function saySpan({ from, to, closed, after }: Span): string {
  const end = to === undefined ? '' : `${closed === true ? 'up to' : 'before'} ${to}`
  if (from === '0') return end === '' ? 'every version' : `versions ${end}`
  return `versions ${after === true ? `after ${from}` : `from ${from} on`}${end === '' ? '' : ` and ${end}`}`
}

const MOST_SPANS = 3

/** What a row says of versions: the part that a version lies in, else all of it. */
export function sayRow(row: StoredRow, version: string, order: VersionOrder): string {
  if (row.safe === true) return 'no version'
  const within = row.spans.filter(span => order.reads(version) && isWithin(version, [span], order))
  const named = within.length === 0 && row.versions?.includes(version) === true ? [`version ${version}`] : []
  const spans = (within.length > 0 ? within : row.spans).slice(0, MOST_SPANS).map(saySpan)
  const listed = spans.length === 0 && named.length === 0 ? [`${row.versions?.length ?? 0} other versions`] : []
  return (named.length > 0 ? named : [...spans, ...listed]).join(', and ')
}

/** What a row says of a version, as a finding keeps it. */
export function evidenceOf(row: StoredRow, version: string, order: VersionOrder): Evidence {
  const { id, source, modified } = row.advisory
  return { record: id, source, ...(modified === undefined ? {} : { modified }), says: sayRow(row, version, order) }
}
