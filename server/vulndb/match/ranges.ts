import type { Skipped, Span } from '../advisory.ts'
import type { VersionOrder } from '../versions/orders.ts'

/** One event of an OSV range. Source: https://ossf.github.io/osv-schema/#affectedrangesevents-fields */
type EventKind = 'introduced' | 'fixed' | 'last_affected' | 'limit'
interface Event {
  readonly kind: EventKind
  readonly version: string
}

const KINDS: readonly EventKind[] = ['introduced', 'fixed', 'last_affected', 'limit']

function readEvents(events: unknown): Event[] | undefined {
  if (!Array.isArray(events)) return undefined
  const read = (events as readonly unknown[]).flatMap(event => {
    if (typeof event !== 'object' || event === null) return [undefined]
    // a later schema may bring further kinds; they end no range that is known here
    return Object.entries(event)
      .filter(([kind]) => (KINDS as readonly string[]).includes(kind))
      .map(([kind, version]) =>
        typeof version === 'string' ? { kind: kind as EventKind, version: version.trim() } : undefined,
      )
  })
  return read.every(event => event !== undefined) ? read : undefined
}

/** '0' stands before every version of any ecosystem, `*` behind every one. */
function compareEvents(order: VersionOrder): (a: Event, b: Event) => number {
  return (a, b) =>
    a.version === b.version ? 0 : a.version === '0' ? -1 : b.version === '0' ? 1 : order.compare(a.version, b.version)
}

/**
 * The affected spans of one range, or why it cannot be trusted: an unreadable fix must not become no fix. Events may
 * come in any order; at one version the written order counts.
 */
export function spansOf(
  events: unknown,
  order: VersionOrder,
): readonly Span[] | Extract<Skipped, 'malformed' | 'no_introduced' | 'bad_version'> {
  const read = readEvents(events)
  if (read === undefined) return 'malformed'
  if (!read.some(({ kind }) => kind === 'introduced')) return 'no_introduced'
  const stops = read.filter(({ kind, version }) => !(kind === 'limit' && version === '*'))
  if (!stops.every(({ version }) => version === '0' || order.isVersion(version))) return 'bad_version'
  const limits = stops.filter(({ kind }) => kind === 'limit')
  const spans: Span[] = []
  let from: string | undefined
  for (const { kind, version } of stops.filter(event => event.kind !== 'limit').sort(compareEvents(order))) {
    if (kind === 'introduced') from ??= version
    else if (from !== undefined) {
      if (kind === 'last_affected') spans.push({ from, to: version, closed: true })
      else if (version !== from) spans.push({ from, to: version })
      from = undefined
    }
  }
  if (from !== undefined) spans.push({ from })
  const last = limits.sort(compareEvents(order)).at(-1)?.version
  return last === undefined || limits.length < read.filter(({ kind }) => kind === 'limit').length
    ? spans
    : spans.flatMap(span => cut(span, last, order))
}

function cut(span: Span, limit: string, order: VersionOrder): Span[] {
  if (span.from !== '0' && order.compare(span.from, limit) >= 0) return []
  return span.to === undefined || order.compare(span.to, limit) >= 0 ? [{ from: span.from, to: limit }] : [span]
}

/** True when a version lies in one of the spans. The order must be able to read it. */
export function isWithin(version: string, spans: readonly Span[], order: VersionOrder): boolean {
  return spans.some(({ from, to, closed, after }) => {
    const begun = from === '0' ? 1 : order.compare(version, from)
    if (begun < 0 || (begun === 0 && after === true)) return false
    if (to === undefined) return true
    if (to === '0') return false
    const beyond = order.compare(version, to)
    return closed === true ? beyond <= 0 : beyond < 0
  })
}
