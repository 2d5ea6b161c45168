import { holds, type Alternatives, type Provided, type Relation, type RelationOp } from '../../core/relation.ts'
import { comparePep440, isPep440 } from '../../core/versions/pep440.ts'
import { malformed, quote } from '../../lib/limited.ts'
import { canApply } from './marker.ts'
import { normalName } from './names.ts'
import { printBounds, readBounds, satisfiesBounds, type Bound } from './specifier.ts'

/** A requirement. `bounds` are none where any version will do, or where an address says which file it is. */
export interface Requirement {
  /** Normalised. */
  readonly name: string
  readonly bounds: readonly Bound[]
  readonly url?: string
  readonly marker?: string
}

const MAX_REQUIREMENTS = 5_000
/** `name[extra] (bounds) ; marker` or `name @ address ; marker`. Source: PEP 508, "Grammar" */
const NAME = /^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[([^\]]*)\])?\s*(.*)$/s
const EXTRAS = /^\s*(?:[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:,\s*[A-Za-z0-9][A-Za-z0-9._-]*\s*)*)?$/

/** @throws Malformed, naming the field */
export function parseRequirement(text: string, field: string): Requirement {
  const wrong = (why: string): never => malformed(`the field ${field} holds ${quote(text)}: ${why}`)
  const [, name = '', extras = '', rest = ''] = NAME.exec(text.trim()) ?? []
  if (name === '') return wrong('it is no requirement; a name comes first (PEP 508)')
  if (!EXTRAS.test(extras)) return wrong(`${quote(extras)} are no extras (PEP 508)`)
  const isUrl = rest.startsWith('@')
  const cut = isUrl ? /\s;/.exec(rest)?.index : rest.indexOf(';')
  const at = cut === undefined || cut === -1 ? rest.length : cut
  const before = rest.slice(isUrl ? 1 : 0, at).trim()
  const marker = rest.slice(at).replace(/^\s*;/, '').trim()
  if (marker !== '' && canApply(marker) === undefined) return wrong(`${quote(marker)} is no marker (PEP 508)`)
  const given = { name: normalName(name), ...(marker === '' ? {} : { marker }) }
  if (isUrl) {
    if (!/^[a-z][a-z0-9+.-]*:\S+$/i.test(before)) return wrong(`${quote(before)} is no address`)
    return { ...given, bounds: [], url: before }
  }
  const bounds = readBounds(before.replace(/^\((.*)\)$/s, '$1'))
  if (bounds === undefined) return wrong(`${quote(before)} bounds no version (PEP 440)`)
  return { ...given, bounds }
}

/** How a bound is kept that no sign of a relation says: as the whole set, behind `=`. */
const SIGNS: ReadonlySet<string> = new Set(['<', '<=', '>=', '>'])
const isSet = (version: string): boolean => /^(?:[<>]=?|[=!~]=)/.test(version)

function relationOf({ name, bounds }: Requirement): Relation {
  const [only] = bounds
  if (only === undefined) return { name }
  if (bounds.length === 1 && SIGNS.has(only.op)) return { name, op: only.op as RelationOp, version: only.version }
  if (bounds.length === 1 && only.op === '==' && isPep440(only.version)) return { name, op: '=', version: only.version }
  return { name, op: '=', version: printBounds(bounds) }
}

/**
 * What a package needs of others, whatever machine it is on and without extras.
 * @returns a need each; one with several bounds has the whole set as its version, behind `=`: `>=1,<2`
 * @throws Malformed
 */
export function dependsOf(requirements: readonly string[], field = 'Requires-Dist'): readonly Alternatives[] {
  if (requirements.length > MAX_REQUIREMENTS)
    malformed(`it has ${requirements.length} fields ${field}, at most ${MAX_REQUIREMENTS} are allowed`)
  return requirements
    .map(text => parseRequirement(text, field))
    .filter(({ marker }) => marker === undefined || canApply(marker) === true)
    .map(requirement => [relationOf(requirement)])
}

/** True when name and version of `have` satisfy `need`. */
export function satisfies(have: Provided, need: Relation): boolean {
  if (normalName(have.name) !== normalName(need.name)) return false
  if (need.op === undefined || need.version === undefined) return true
  if (have.version === undefined) return false
  if (isSet(need.version)) return satisfiesBounds(have.version, readBounds(need.version) ?? [])
  const bounds = readBounds(`${need.op === '=' ? '==' : need.op}${need.version}`)
  return bounds === undefined
    ? holds(comparePep440(have.version, need.version), need.op)
    : satisfiesBounds(have.version, bounds)
}
