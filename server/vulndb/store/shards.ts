import { gunzipSync, gzipSync } from 'node:zlib'
import { malformed } from '../../lib/limited.ts'
import type { Advisory, Row, Span } from '../advisory.ts'
import type { OrderId } from '../versions/orders.ts'

/** A row with its advisory, as it is matched. */
export interface StoredRow extends Row {
  readonly advisory: Advisory
}

/** One piece of an ecosystem's table: the rows for the names whose hash falls into it. */
export interface Shard {
  rows(name: string): readonly StoredRow[]
  names(): readonly string[]
}

/*
 * The file: gzip over lines of JSON. First the advisories, `{"id": …}`, each once. Then one line per name,
 * `["openssl",[rows]]`, whose rows refer to their advisory by its position. The name comes first, so that a line is
 * parsed only when it is needed.
 */
type SpanLine =
  | readonly [from: string]
  | readonly [from: string, to: string]
  | readonly [from: string, to: string | null, kind: number]
/** Bits of a span's kind. */
const CLOSED = 1
const AFTER = 2
interface RowLine {
  readonly a: number
  readonly s: readonly SpanLine[]
  /** By source package. */
  readonly b?: 1
  readonly v?: readonly string[]
  readonly o?: OrderId
  readonly p?: Row['severity']
  readonly r?: Row['ratings']
  readonly m?: readonly string[]
  readonly h?: readonly string[]
  readonly n?: 1
  readonly t?: string
  readonly c?: readonly string[]
}

function writeSpan({ from, to, closed, after }: Span): SpanLine {
  const kind = (closed === true ? CLOSED : 0) + (after === true ? AFTER : 0)
  if (kind !== 0) return [from, to ?? null, kind]
  return to === undefined ? [from] : [from, to]
}
const readSpan = ([from, to, kind = 0]: SpanLine): Span => ({
  from,
  ...(to === undefined || to === null ? {} : { to }),
  ...((kind & CLOSED) === 0 ? {} : { closed: true }),
  ...((kind & AFTER) === 0 ? {} : { after: true }),
})

function writeRow(
  { by, spans, versions, order, severity, ratings, modules, archs, safe, said, ships }: Row,
  at: number,
): RowLine {
  return {
    a: at,
    s: spans.map(writeSpan),
    ...(by === 'source' ? { b: 1 } : {}),
    ...(versions === undefined ? {} : { v: versions }),
    ...(order === undefined ? {} : { o: order }),
    ...(severity === undefined ? {} : { p: severity }),
    ...(ratings === undefined ? {} : { r: ratings }),
    ...(modules === undefined ? {} : { m: modules }),
    ...(archs === undefined ? {} : { h: archs }),
    ...(safe === true ? { n: 1 } : {}),
    ...(said === undefined ? {} : { t: said }),
    ...(ships === undefined ? {} : { c: ships }),
  }
}

function readRow(name: string, line: RowLine, advisory: Advisory): StoredRow {
  return {
    name,
    advisory,
    by: line.b === 1 ? 'source' : 'binary',
    spans: line.s.map(readSpan),
    ...(line.v === undefined ? {} : { versions: line.v }),
    ...(line.o === undefined ? {} : { order: line.o }),
    ...(line.p === undefined ? {} : { severity: line.p }),
    ...(line.r === undefined ? {} : { ratings: line.r }),
    ...(line.m === undefined ? {} : { modules: line.m }),
    ...(line.h === undefined ? {} : { archs: line.h }),
    ...(line.n === 1 ? { safe: true } : {}),
    ...(line.t === undefined ? {} : { said: line.t }),
    ...(line.c === undefined ? {} : { ships: line.c }),
  }
}

/** Packs rows into the file of a shard. Writes equal rows once; the order of the input does not matter. */
export function packShard(rows: readonly StoredRow[]): Buffer {
  const places = new Map<Advisory, number>()
  const advisories = new Map<string, number>()
  const heads: string[] = []
  const byName = new Map<string, Set<string>>()
  for (const row of rows) {
    const known = places.get(row.advisory)
    const head = known === undefined ? JSON.stringify(row.advisory) : ''
    const at = known ?? advisories.get(head) ?? heads.push(head) - 1
    if (known === undefined) advisories.set(head, at)
    places.set(row.advisory, at)
    const lines = byName.get(row.name) ?? new Set()
    lines.add(JSON.stringify(writeRow(row, at)))
    byName.set(row.name, lines)
  }
  const lines = [...byName]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, set]) => `[${JSON.stringify(name)},[${[...set].join(',')}]]`)
  // fast: the lowest level is within a tenth of the best in size, in a third of the time
  return gzipSync(`${[...heads, ...lines].join('\n')}\n`, { level: 1 })
}

const MOST_BYTES = 512 * 1024 * 1024
/** The name at the start of a line, as JSON; a name may hold quotes and brackets. */
const NAME = /^\[("(?:[^"\\]|\\.)*")/

/** Opens the file of a shard. @throws Malformed when it is damaged: damage must never look like an empty answer */
export function openShard(bytes: Buffer): Shard & { readonly sizeBytes: number } {
  let text: string
  try {
    text = gunzipSync(bytes, { maxOutputLength: MOST_BYTES }).toString('utf8')
  } catch (error) {
    return malformed('a piece of the advisory tables is damaged', error)
  }
  const heads: (string | Advisory)[] = []
  const lines = new Map<string, string>()
  for (const line of text.split('\n')) {
    if (line.startsWith('{')) heads.push(line)
    else if (line !== '')
      lines.set(NAME.exec(line)?.[1] ?? malformed('a piece of the advisory tables has a line without a name'), line)
  }
  const advisoryAt = (at: number): Advisory => {
    const head = heads[at] ?? malformed('a piece of the advisory tables names an advisory that is not there')
    if (typeof head !== 'string') return head
    return (heads[at] = JSON.parse(head) as Advisory)
  }
  const parsed = new Map<string, readonly StoredRow[]>()
  return {
    sizeBytes: text.length,
    names: () => [...lines.keys()].map(key => JSON.parse(key) as string),
    rows(name) {
      const known = parsed.get(name)
      if (known !== undefined) return known
      const line = lines.get(JSON.stringify(name))
      if (line === undefined) return []
      const [, found] = JSON.parse(line) as [string, readonly RowLine[]]
      const rows = found.map(row => readRow(name, row, advisoryAt(row.a)))
      parsed.set(name, rows)
      return rows
    },
  }
}
