import { FormatRegistry, type TSchema } from '@sinclair/typebox'
import { Value, type ValueError } from '@sinclair/typebox/value'
import { ShapeError, type Fault } from './problem.ts'

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

export type Place = 'path' | 'query' | 'body'

// TypeBox names schema nodes; people need the rule
const KINDS: readonly [RegExp, string][] = [
  [/required/i, 'missing'],
  [/Expected (string|integer|number|boolean|array|object)/, 'type_error'],
  [/./, 'value_error'],
]

interface Ruled {
  description?: string
  pattern?: string
  enum?: string[]
  type?: string
}

const KIND_ONLY = /^Expected (?:string|integer|number|boolean|array|object|null)$/

/**
 * The fault in the member of the union that the value was meant to be: a text that is too long, not "no text and not
 * null".
 */
function meant({ path, message, errors }: ValueError): ValueError | undefined {
  if (!message.startsWith('Expected union')) return undefined
  const isOfOtherKind = (one: ValueError): boolean =>
    one.path === path && (KIND_ONLY.test(one.message) || one.message.startsWith("Expected '"))
  return errors.map(one => one.First()).find(one => one !== undefined && !isOfOtherKind(one))
}

function faultOf(place: Place, given: ValueError): Fault {
  const error = meant(given) ?? given
  const path = error.path
    .split('/')
    .slice(1)
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const whole = error.schema as Ruled & { anyOf?: (Ruled & { const?: unknown })[] }
  // for a text that may be null the rule of the text is enough
  const schema = whole.anyOf?.find(one => one.pattern !== undefined) ?? whole
  const words = schema.enum ?? whole.anyOf?.flatMap(one => (one.const === undefined ? [] : [String(one.const)]))
  const kinds = whole.anyOf?.flatMap(one => one.type ?? []) ?? []
  const isUnion = error.message.startsWith('Expected union')
  const rule =
    words !== undefined && words.length > 0 && isUnion
      ? `It must be one of ${words.join(', ')}.`
      : schema.pattern !== undefined && schema.description !== undefined
        ? `It must be ${schema.description}`
        : isUnion && kinds.length > 0
          ? `It must be ${kinds.join(' or ')}.`
          : `${error.message}.`
  const required = /required property/i.test(error.message)
  return {
    loc: [place, ...path],
    msg: required ? 'It is missing.' : rule,
    type: KINDS.find(([pattern]) => pattern.test(error.message))?.[1] ?? 'value_error',
  }
}

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
  const members = Object.entries((schema.properties ?? {}) as Record<string, TSchema>)
  const values = given as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    members.flatMap(([name, member]) => (values[name] === undefined ? [] : [[name, readText(member, values[name])]])),
  )
}

/**
 * Removes members named like a property that every object has (`constructor`): TypeBox takes them for named by any
 * schema.
 */
function dropInherited(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  const members = value as Record<string, unknown>
  for (const key of Object.keys(members)) {
    if (key in Object.prototype) delete members[key]
    else dropInherited(members[key])
  }
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
 * The value in the shape of the schema, without members that the schema does not name.
 * @param isText  the members arrived as text, so `"2"` becomes 2 where a number is wanted
 * @throws ShapeError with every fault
 */
export function validate(
  schema: TSchema,
  given: unknown,
  { place, isText = false }: { readonly place: Place; readonly isText?: boolean },
): unknown {
  const value: unknown = isText ? readTexts(schema, given) : structuredClone(given)
  dropInherited(value)
  const [bad] = unstorable(value, [place])
  if (bad !== undefined) throw new ShapeError([{ loc: bad.path, msg: bad.msg, type: 'value_error' }])
  if (!Value.Check(schema, value)) {
    const seen = new Set<string>()
    const faults = [...Value.Errors(schema, value)]
      .slice(0, 100)
      .filter(error => !seen.has(error.path) && seen.add(error.path))
      .map(error => faultOf(place, error))
    throw new ShapeError(faults)
  }
  return Value.Clean(schema, value)
}
