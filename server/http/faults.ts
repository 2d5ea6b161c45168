import { ValueErrorType, type ValueError } from '@sinclair/typebox/value'
import { printRule } from '../core/rule.ts'
import type { Fault } from './problem.ts'
import type { UnknownMember } from './unknown-members.ts'

/** Where in a request a value stands. */
export type Place = 'path' | 'query' | 'body'

const KINDS: ReadonlySet<ValueErrorType> = new Set([
  ValueErrorType.Array,
  ValueErrorType.Boolean,
  ValueErrorType.Integer,
  ValueErrorType.Null,
  ValueErrorType.Number,
  ValueErrorType.Object,
  ValueErrorType.String,
])

/** Members whose values no answer repeats. */
const SECRET = /passw|passphrase|secret|token|code|key|credential|session|cookie/i
const LONGEST_INPUT = 200

/** As much of a refused text as an answer repeats. */
export const cutInput = (text: string): string => text.slice(0, LONGEST_INPUT)

/** The refused value for `input`: a short scalar, `***` for a secret, null for anything larger. */
function shown(path: readonly string[], value: unknown): Fault['input'] {
  if (typeof value === 'object' || value === undefined) return null
  if (path.some(part => SECRET.test(part))) return '***'
  return typeof value === 'string' ? cutInput(value) : (value as number | boolean)
}

/**
 * The fault in the member of the union that the value was meant to be: a text that is too long, not "no text and not
 * null".
 */
function meant({ type, path, errors }: ValueError): ValueError | undefined {
  if (type !== ValueErrorType.Union) return undefined
  const isOfOtherKind = (one: ValueError): boolean =>
    one.path === path && (KINDS.has(one.type) || one.type === ValueErrorType.Literal)
  return errors.map(one => one.First()).find(one => one !== undefined && !isOfOtherKind(one))
}

/** What is wrong beside the rule, where the value does not say it itself. */
function said({ type, value }: ValueError): string {
  switch (type) {
    case ValueErrorType.ObjectRequiredProperty:
      return 'It is missing. '
    case ValueErrorType.StringMinLength:
    case ValueErrorType.StringMaxLength:
      return value === '' ? 'It is empty. ' : `It has ${(value as string).length} characters. `
    case ValueErrorType.ArrayMinItems:
    case ValueErrorType.ArrayMaxItems: {
      const { length } = value as readonly unknown[]
      return length === 0 ? 'It is empty. ' : `It has ${length} entries. `
    }
    case ValueErrorType.ArrayUniqueItems:
      return 'It has an entry twice. Each may be there once. '
    default:
      return ''
  }
}

function kindOf(type: ValueErrorType): string {
  if (type === ValueErrorType.ObjectRequiredProperty) return 'missing'
  return KINDS.has(type) ? 'type_error' : 'value_error'
}

/** A fault that TypeBox found, in sentences: what is wrong, and what it must be. */
export function faultOf(place: Place, given: ValueError): Fault {
  const error = meant(given) ?? given
  const path = error.path
    .split('/')
    .slice(1)
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (error.type === ValueErrorType.ObjectAdditionalProperties)
    return unknownFault(place, {
      path,
      known: Object.keys((error.schema.properties ?? {}) as object),
      value: error.value,
    })
  const isMissing = error.type === ValueErrorType.ObjectRequiredProperty
  const isRepeated = place === 'query' && Array.isArray(error.value) && error.schema.type !== 'array'
  return {
    loc: [place, ...path],
    msg: isRepeated
      ? 'It is there more than once. Send it once.'
      : `${said(error)}It must be ${printRule(error.schema)}.`,
    type: kindOf(error.type),
    input: isMissing ? null : shown(path, error.value),
  }
}

const WORD: Record<Place, string> = { path: 'path parameter', query: 'query parameter', body: 'field' }

/** The fault of a filter whose words are data. */
export const unknownWordFault = (
  name: string,
  { value, words }: { readonly value: string; readonly words: readonly string[] },
): Fault => ({
  loc: ['query', name],
  msg: `It must be one of ${words.join(', ')}.`,
  type: 'value_error',
  input: cutInput(value),
})

/** The fault of a member that the schema does not name. It says which there are. */
export function unknownFault(place: Place, { path, known, value }: UnknownMember): Fault {
  const word = WORD[place]
  const there = known.length === 0 ? `This route takes no ${word} here.` : `There are: ${known.join(', ')}.`
  return {
    loc: [place, ...path],
    msg: `There is no such ${word}. ${there}`,
    type: 'extra_forbidden',
    input: shown(path.map(String), value),
  }
}
