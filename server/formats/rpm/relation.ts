import type { Alternatives, Provided, Relation, RelationOp } from '../../core/relation.ts'
import { malformed, quote } from '../../lib/limited.ts'
import type { RpmDependency } from './facts.ts'
import type { RpmHeader } from './header.ts'
import { isRich, type Need } from '../relations.ts'
import { parseRich, readRich } from './rich.ts'
import { isWithin, parseBound, printEvr } from './version.ts'

/** The longest name that can be looked up by the database index. */
const MAX_NAME = 1000
const LESS = 1 << 1
const GREATER = 1 << 2
const EQUAL = 1 << 3
/** Needed by scripts that run in the transaction: the set that createrepo_c writes as `pre="1"`. */
const PRE = (1 << 6) | (1 << 9) | (1 << 10)

function opOf(flags: number): RelationOp | undefined {
  const equal = (flags & EQUAL) !== 0
  // less and greater together mean any version, with or without equal
  if ((flags & LESS) !== 0 && (flags & GREATER) !== 0) return undefined
  if ((flags & LESS) !== 0) return equal ? '<=' : '<'
  if ((flags & GREATER) !== 0) return equal ? '>=' : '>'
  return equal ? '=' : undefined
}

// eslint-disable-next-line no-control-regex -- control characters are exactly what is refused here
const CONTROL = /[\u0000-\u001f\u007f]/

function dependency(name: string, flags: number, version: string, what: string): RpmDependency {
  if (name === '') return malformed(`the header: one of its ${what} has no name`)
  if (name.length > MAX_NAME) malformed(`the header: one of its ${what} has a name of more than ${MAX_NAME} characters`)
  if (CONTROL.test(name) || CONTROL.test(version))
    malformed(`the header: ${quote(name)} among its ${what} holds a control character`)
  const op = version === '' ? undefined : opOf(flags)
  return {
    name,
    ...(op === undefined ? {} : { op, evr: parseBound(version) }),
    ...(what === 'requires' && (flags & PRE) !== 0 ? { pre: true } : {}),
  }
}

/**
 * One list of dependencies, in its order, without what rpm requires of itself: `rpmlib(…)`.
 * @throws Malformed when its three columns have different lengths, and for names that are none
 */
export function readDependencies(
  header: RpmHeader,
  what: string,
  [name, flags, version]: readonly [number, number, number],
): RpmDependency[] {
  const names = header.texts(name)
  const [bits, versions] = [header.numbers(flags), header.texts(version)]
  // rpm 3 wrote provides as names alone
  const bare = bits.length === 0 && versions.length === 0
  if (!bare && (bits.length !== names.length || versions.length !== names.length)) {
    malformed(`the header lists ${names.length} ${what}, ${bits.length} flags and ${versions.length} versions for them`)
  }
  return names
    .map((one, i) => dependency(one, bits[i] ?? 0, versions[i] ?? '', what))
    .filter(one => !one.name.startsWith('rpmlib('))
}

function relationOf({ name, op, evr }: RpmDependency): Relation {
  return op === undefined || evr === undefined ? { name } : { name, op, version: printEvr(evr) }
}

/** Each once, in the order of the first. */
function distinct<T extends object>(list: readonly T[]): T[] {
  const seen = new Set<string>()
  return list.filter(one => seen.size < seen.add(JSON.stringify(one)).size)
}

/**
 * Needs as the rest of the server reads them. Of a rich dependency stays what must hold in any case: `(a or b)` are
 * alternatives, `(a and b)` and `(a with b)` two needs, of `(a if b)` nothing.
 * @throws Malformed for a rich dependency that rpm could not read
 */
export function needsOf(requires: readonly RpmDependency[]): Alternatives[] {
  return distinct(
    requires.flatMap((one): Alternatives[] => (one.name.startsWith('(') ? parseRich(one.name) : [[relationOf(one)]])),
  )
}

/** Needs whole, with the conditions of rich dependencies. @throws Malformed for one that rpm could not read */
export function wholeNeedsOf(requires: readonly RpmDependency[]): Need[] {
  const needs = requires.map((one): Need => {
    if (!one.name.startsWith('(')) return [relationOf(one)]
    const read = readRich(one.name)
    return isRich(read) ? read : [read]
  })
  return distinct(needs)
}

/** Names and bounds, without rich dependencies. */
export const plainOf = (list: readonly RpmDependency[]): Relation[] =>
  list.filter(one => !one.name.startsWith('(')).map(relationOf)

/** Conflicts. A rich conflict cannot be expressed this way and is kept only in the facts. */
export function conflictsOf(conflicts: readonly RpmDependency[]): Alternatives[] {
  return distinct(conflicts.filter(one => !one.name.startsWith('(')).map(one => [relationOf(one)]))
}

/** Virtual names. A bound other than `=` offers a range, which is kept as a name that satisfies every version. */
export function providedOf(provides: readonly RpmDependency[]): Provided[] {
  return provides.map(({ name, op, evr }) =>
    op === '=' && evr !== undefined ? { name, version: printEvr(evr) } : { name },
  )
}

/**
 * True when `have` satisfies `need`. As rpm and libsolv have it: a name offered without a version satisfies every
 * bound.
 */
export function satisfies(have: Provided, need: Relation): boolean {
  if (have.name !== need.name) return false
  if (need.op === undefined || need.version === undefined || have.version === undefined) return true
  return isWithin(have.version, need.op, need.version)
}
