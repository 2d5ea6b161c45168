import { holds, type Alternatives, type Provided, type Relation } from '../../core/relation.ts'
import { malformed, quote } from '../../lib/limited.ts'
import { baseOf, isSnapshot } from './coordinates.ts'
import { compareVersions } from './version.ts'

interface Interval {
  readonly low?: Pick<Relation, 'op' | 'version'>
  readonly high?: Pick<Relation, 'op' | 'version'>
}

const MOST_INTERVALS = 20
const INTERVAL = /([[(])\s*([^,[\]()]*?)\s*(?:(,)\s*([^,[\]()]*?)\s*)?([\])])\s*(?:,\s*(?=[[(])|$)/gy

function bound(op: '<' | '<=' | '>' | '>=', version: string): Pick<Relation, 'op' | 'version'> | undefined {
  return version === '' ? undefined : { op, version }
}

function intervalsOf(range: string): readonly Interval[] {
  const all: Interval[] = []
  let end = 0
  for (const found of range.matchAll(INTERVAL)) {
    const [whole, open, first = '', comma, second = '', close] = found
    end = found.index + whole.length
    if (comma === undefined) {
      if (open !== '[' || close !== ']' || first === '') break
      all.push({ low: { op: '>=', version: first }, high: { op: '<=', version: first } })
      continue
    }
    const low = bound(open === '[' ? '>=' : '>', first)
    const high = bound(close === ']' ? '<=' : '<', second)
    all.push({ ...(low === undefined ? {} : { low }), ...(high === undefined ? {} : { high }) })
  }
  if (all.length === 0 || end !== range.length) malformed(`${quote(range)} is no range of versions`)
  if (all.length > MOST_INTERVALS) malformed(`${quote(range)} has more than ${MOST_INTERVALS} parts`)
  return all
}

/**
 * What a pom's version of a dependency asks for, as needs that all have to be met. A version alone is what Maven takes
 * unless something nearer asks for another: `=`. A range in parts, `(,1.0],[1.2,)`, has an `or` for each gap.
 * @throws Malformed
 * Source: https://maven.apache.org/pom.html#dependency-version-requirement-specification
 */
export function needsOf(name: string, version: string | undefined): readonly Alternatives[] {
  if (version === undefined) return [[{ name }]]
  if (!/^[[(]/.test(version)) return [[{ name, op: '=', version }]]
  const intervals = intervalsOf(version)
  const [only] = intervals
  if (
    intervals.length === 1 &&
    only?.low?.op === '>=' &&
    only.high?.op === '<=' &&
    only.low.version === only.high.version
  )
    return [[{ name, op: '=', version: only.low.version ?? '' }]]
  const needs: Relation[][] = []
  const first = intervals[0]?.low
  const last = intervals.at(-1)?.high
  if (first !== undefined) needs.push([{ name, ...first }])
  if (last !== undefined) needs.push([{ name, ...last }])
  intervals.slice(1).forEach(({ low }, at) => {
    const high = intervals[at]?.high
    if (low !== undefined && high !== undefined)
      needs.push([
        { name, ...high },
        { name, ...low },
      ])
  })
  return needs.length === 0 ? [[{ name }]] : needs
}

/** True when name and version of `have` satisfy `need`; any build is its snapshot. */
export function satisfies(have: Provided, { name, op, version }: Relation): boolean {
  if (have.name !== name) return false
  if (op === undefined || version === undefined) return true
  if (have.version === undefined) return false
  if (op === '=' && isSnapshot(version)) return baseOf(have.version) === version
  return holds(compareVersions(have.version, version), op)
}
