import type { TSchema } from '@sinclair/typebox'

/** The members of a schema that say what it takes. `rule` says in words what a pattern asks. */
interface Ruled {
  readonly type?: string
  readonly rule?: string
  readonly format?: string
  readonly const?: unknown
  readonly enum?: readonly string[]
  readonly anyOf?: readonly TSchema[]
  readonly allOf?: readonly TSchema[]
  readonly items?: TSchema
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly patternProperties?: Readonly<Record<string, TSchema>>
}

/** No control characters: such a text may end up in a mail header or in a file. */
export const ONE_LINE = '^[^\\u0000-\\u001f\\u007f]*$'

const FORMATS: Readonly<Record<string, string>> = {
  'date': 'a day such as 2026-03-01',
  'date-time': 'a day or a time that exists, such as 2026-03-01 or 2026-03-01T12:00:00Z',
}

/** ` from 1 to 5`, ` of at least 1`, ` of at most 5`, or nothing. */
function bounds(least: number | undefined, most: number | undefined, between: string): string {
  if (least !== undefined && most !== undefined) return ` ${between} ${least} to ${most}`
  if (least !== undefined) return ` of at least ${least}`
  return most === undefined ? '' : ` of at most ${most}`
}

function ofText({ format, minLength = 0, maxLength, ...schema }: Ruled & { readonly pattern?: string }): string {
  const line = schema.pattern === ONE_LINE ? ' on one line' : ''
  if (format !== undefined) return FORMATS[format] ?? `text in the form ${format}`
  if (minLength === 0 && maxLength === undefined) return `text${line}`
  return minLength === maxLength
    ? `text of ${minLength} characters${line}`
    : `text${bounds(minLength === 0 ? undefined : minLength, maxLength, 'of')} characters${line}`
}

function ofList({ items, minItems = 0, maxItems }: Ruled): string {
  const each = items === undefined ? '' : `, each ${printRule(items)}`
  if (minItems === 0 && maxItems === undefined) return `a list${each}`
  return minItems === maxItems
    ? `a list of ${minItems} ${minItems === 1 ? 'entry' : 'entries'}${each}`
    : `a list${bounds(minItems === 0 ? undefined : minItems, maxItems, 'of')} ${maxItems === 1 ? 'entry' : 'entries'}${each}`
}

function ofChoice(choices: readonly TSchema[]): string {
  const words = choices.flatMap(one => (one.const === undefined ? [] : [String(one.const)]))
  const others = [...new Set(choices.filter(one => one.const === undefined).map(printRule))]
  const listed = words.length === 0 ? [] : [words.length === 1 ? `${words[0]}` : `one of ${words.join(', ')}`]
  return [...listed, ...others].join(', or ')
}

/**
 * What a schema takes, as it ends the sentence "It must be …": `a whole number from 1 to 200`. One source for requests
 * and settings.
 */
export function printRule(schema: TSchema): string {
  const ruled = schema as Ruled
  if (ruled.rule !== undefined) return ruled.rule
  if (ruled.const !== undefined) return String(ruled.const)
  if (ruled.anyOf !== undefined) return ofChoice(ruled.anyOf)
  if (ruled.enum !== undefined) return `one of ${ruled.enum.join(', ')}`
  if (ruled.type === 'string') return ofText(ruled)
  if (ruled.type === 'integer') return `a whole number${bounds(ruled.minimum, ruled.maximum, 'from')}`
  if (ruled.type === 'number') return `a number${bounds(ruled.minimum, ruled.maximum, 'from')}`
  if (ruled.type === 'boolean') return 'true or false'
  if (ruled.type === 'null') return 'null'
  if (ruled.type === 'array') return ofList(ruled)
  const [member] = Object.values(ruled.patternProperties ?? {})
  if (member !== undefined && Object.keys(member).includes('type'))
    return `an object of names, each with ${printRule(member)}`
  return 'an object'
}
