import { FormatRegistry, type TSchema } from '@sinclair/typebox'
import { Value, type ValueError } from '@sinclair/typebox/value'
import { ShapeError, type Fault } from './problem.ts'

FormatRegistry.Set('date-time', text => !Number.isNaN(Date.parse(text)))
FormatRegistry.Set('email', text => /^[^\s@]+@[^\s@]+$/.test(text))

export type Place = 'path' | 'query' | 'body'

// TypeBox speaks of schema nodes; people want the rule
const KINDS: readonly [RegExp, string][] = [[/required/i, 'missing'], [/Expected (string|integer|number|boolean|array|object)/, 'type_error'], [/./, 'value_error']]

function faultOf(place: Place, error: ValueError): Fault {
  const path = error.path.split('/').slice(1).map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const schema = error.schema as { description?: string; enum?: string[]; anyOf?: { const?: unknown }[] }
  const words = schema.enum ?? schema.anyOf?.flatMap(one => one.const === undefined ? [] : [String(one.const)])
  const msg = words !== undefined && words.length > 0 && error.message.startsWith('Expected union') ? `It must be one of ${words.join(', ')}.` : `${error.message}.`
  const required = /required property/i.test(error.message)
  return { loc: [place, ...path], msg: required ? 'It is missing.' : msg, type: KINDS.find(([pattern]) => pattern.test(error.message))?.[1] ?? 'value_error' }
}

/**
 * The value in the shape of the schema, without anything the schema does not name.
 * @param coerce  for what arrives as text: `"2"` becomes 2
 * @throws ShapeError with every fault
 */
export function validate(schema: TSchema, given: unknown, { place, coerce = false }: { readonly place: Place; readonly coerce?: boolean }): unknown {
  const copy: unknown = structuredClone(given)
  const value = coerce ? Value.Convert(schema, copy) : copy
  if (!Value.Check(schema, value)) {
    const seen = new Set<string>()
    const faults = [...Value.Errors(schema, value)].slice(0, 100).filter(error => !seen.has(error.path) && seen.add(error.path)).map(error => faultOf(place, error))
    throw new ShapeError(faults)
  }
  return Value.Clean(schema, value)
}
