import { FormatRegistry, type TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { faultOf, unknownFault, type Place } from './faults.ts'
import { ShapeError } from './problem.ts'
import { listUnknown, removeInherited } from './unknown-members.ts'

const MOMENT = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?$/i

/** True for an ISO 8601 day or moment that exists: `Date` also reads other things, and takes 2027-02-30 for March. */
function isMoment(text: string): boolean {
  const day = new Date(text.slice(0, 10))
  return (
    MOMENT.test(text) &&
    !Number.isNaN(Date.parse(text)) &&
    !Number.isNaN(day.getTime()) &&
    day.toISOString().startsWith(text.slice(0, 10))
  )
}

FormatRegistry.Set('date-time', isMoment)
FormatRegistry.Set('email', text => /^[^\s@]+@[^\s@]+$/.test(text))

/** What a text means where the schema wants another type. Anything unclear stays text, and the check reports it. */
function readText(schema: TSchema, given: unknown): unknown {
  if (schema.type === 'array')
    return (Array.isArray(given) ? given : [given]).map(one => readText(schema.items as TSchema, one))
  if (typeof given !== 'string') return given
  if (schema.type === 'integer' && /^-?\d{1,15}$/.test(given)) return Number(given)
  if (schema.type === 'number' && /^-?\d{1,15}(\.\d{1,15})?$/.test(given)) return Number(given)
  if (schema.type === 'boolean' && /^(true|false|1|0)$/.test(given)) return given === 'true' || given === '1'
  return given
}

function readTexts(schema: TSchema, given: unknown): unknown {
  const members = (schema.properties ?? {}) as Readonly<Record<string, TSchema>>
  return Object.fromEntries(
    Object.entries(given as Readonly<Record<string, unknown>>).map(([name, value]) => {
      const member = Object.hasOwn(members, name) ? members[name] : undefined
      return [name, member === undefined ? value : readText(member, value)]
    }),
  )
}

interface Unstorable {
  readonly path: readonly (string | number)[]
  readonly msg: string
}

/**
 * Where a text holds what PostgreSQL cannot store: a zero byte, or half of a character (a lone surrogate, which JSON
 * can write).
 */
function* unstorable(value: unknown, path: readonly (string | number)[]): Generator<Unstorable> {
  if (typeof value === 'string' && value.includes('\0')) yield { path, msg: 'It has a zero byte.' }
  else if (typeof value === 'string' && !value.isWellFormed())
    yield { path, msg: 'It has half a character: a surrogate without its other half.' }
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value)) {
    yield* unstorable(key, path)
    yield* unstorable(member, [...path, key])
  }
}

/**
 * The value, checked against the schema. A member that the schema does not name is a fault, so that nothing is ignored
 * in silence; `additionalProperties: true` on an object lets members of others pass, and drops them.
 * @param isText  the members arrived as text, so `"2"` becomes 2 where a number is wanted
 * @throws ShapeError with every fault
 */
export function validate(
  schema: TSchema,
  given: unknown,
  { place, isText = false }: { readonly place: Place; readonly isText?: boolean },
): unknown {
  const value: unknown = isText ? readTexts(schema, given) : structuredClone(given)
  const inherited = removeInherited(schema, value)
  const [bad] = unstorable(value, [place])
  if (bad !== undefined) throw new ShapeError([{ loc: bad.path, msg: bad.msg, type: 'value_error', input: null }])
  const unknown = [...inherited, ...listUnknown(schema, value)].map(member => unknownFault(place, member))
  const named = new Set(unknown.map(({ loc }) => loc.join('/')))
  const seen = new Set<string>()
  const wrong = Value.Check(schema, value)
    ? []
    : [...Value.Errors(schema, value)]
        .slice(0, 100)
        .filter(error => !seen.has(error.path) && seen.add(error.path))
        .map(error => faultOf(place, error))
        // told already, with the names that there are
        .filter(({ type, loc }) => type !== 'extra_forbidden' || !named.has(loc.join('/')))
  const told = new Set(wrong.map(({ loc }) => loc.join('/')))
  const faults = [...wrong, ...unknown.filter(({ loc }) => !told.has(loc.join('/')))]
  if (faults.length > 0) throw new ShapeError(faults.slice(0, 100))
  return Value.Clean(schema, value)
}
