import type { ValueError } from '@sinclair/typebox/value'
import type { Fault } from './problem.ts'
import type { UnknownMember } from './unknown-members.ts'

/** Where in a request a value stands. */
export type Place = 'path' | 'query' | 'body'

// TypeBox names schema nodes; people need the rule
const KINDS: readonly [RegExp, string][] = [
  [/required/i, 'missing'],
  [/Unexpected property/, 'extra_forbidden'],
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

/** Members whose values no answer repeats. */
const SECRET = /password|secret|token|code|key|credential/i
const LONGEST_INPUT = 200

/** As much of a refused text as an answer repeats. */
export const cutInput = (text: string): string => text.slice(0, LONGEST_INPUT)

/** The refused value for `input`: a short scalar, `***` for a secret, null for anything larger. */
function shown(path: readonly string[], value: unknown): Fault['input'] {
  if (typeof value === 'number' || typeof value === 'boolean') return value
  if (typeof value !== 'string') return null
  return path.some(part => SECRET.test(part)) ? '***' : cutInput(value)
}

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

/** A fault that TypeBox found, in words for people. */
export function faultOf(place: Place, given: ValueError): Fault {
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
      ? oneOf(words)
      : schema.pattern !== undefined && schema.description !== undefined
        ? `It must be ${schema.description}`
        : isUnion && kinds.length > 0
          ? `It must be ${kinds.join(' or ')}.`
          : `${error.message}.`
  const required = /required property/i.test(error.message)
  const repeated = place === 'query' && Array.isArray(error.value)
  return {
    loc: [place, ...path],
    msg: required ? 'It is missing.' : repeated ? 'It is there more than once. Send it once.' : rule,
    type: KINDS.find(([pattern]) => pattern.test(error.message))?.[1] ?? 'value_error',
    input: required ? null : shown(path, error.value),
  }
}

const WORD: Record<Place, string> = { path: 'path parameter', query: 'query parameter', body: 'field' }

const oneOf = (words: readonly string[]): string => `It must be one of ${words.join(', ')}.`

/** The fault of a filter whose words are data. */
export const unknownWordFault = (
  name: string,
  { value, words }: { readonly value: string; readonly words: readonly string[] },
): Fault => ({ loc: ['query', name], msg: oneOf(words), type: 'value_error', input: cutInput(value) })

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
