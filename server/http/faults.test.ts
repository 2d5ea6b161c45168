import { Type, type TSchema } from '@sinclair/typebox'
import { describe, expect, test } from 'vitest'
import { api } from '../api.ts'
import type { Row } from '../core/contract.ts'
import type { Place } from './faults.ts'
import { ShapeError, type Fault } from './problem.ts'
import { validate } from './validate.ts'

function faultsOf(schema: TSchema, value: unknown, place: Place): readonly Fault[] {
  try {
    validate(schema, value, { place, isText: place !== 'body' })
    return []
  } catch (error) {
    if (error instanceof ShapeError) return error.faults
    throw error
  }
}

/** Values of every kind, one step beyond each bound, at every depth of a schema. Most of them are wrong. */
function* trials(schema: TSchema): Generator<unknown> {
  yield* [null, true, -1, 1.5, 1e12, '', 'x', 'a\u0001<@', {}, [], { nobody: 1 }, ['a', 'a'], [null]]
  const { maxLength, maxItems, items, properties } = schema as {
    readonly maxLength?: number
    readonly maxItems?: number
    readonly items?: TSchema
    readonly properties?: Readonly<Record<string, TSchema>>
  }
  if (maxLength !== undefined) yield 'a'.repeat(maxLength + 1)
  if (maxItems !== undefined) yield Array.from({ length: maxItems + 1 }, (_, n) => `a${n}`)
  for (const one of (schema.anyOf ?? []) as readonly TSchema[]) yield* trials(one)
  if (items !== undefined) for (const value of trials(items)) yield [value]
  for (const [name, member] of Object.entries(properties ?? {}))
    for (const value of trials(member)) yield { [name]: value }
}

const SENTENCE =
  /^(It is (missing|empty)\. |It has [\d]+ (characters|entries)\. |It has an entry twice\. Each may be there once\. )?It must be [^.].*\.$/s
const OTHERS = /^(It is there more than once\. Send it once|There is no such (field|(query|path) parameter)\. .+)\.$/s

describe('every fault in every request is told in sentences that name the rule', () => {
  const places = Object.entries(api).flatMap(([key, row]: [string, Row]) =>
    (['params', 'query', 'body'] as const).flatMap(where => {
      const schema = row[where]
      return schema === undefined ? [] : [[`${where} of ${key}`, schema, where === 'params' ? 'path' : where] as const]
    }),
  )

  function* patterns(schema: TSchema): Generator<TSchema> {
    if (schema.pattern !== undefined) yield schema
    for (const one of (schema.anyOf ?? []) as readonly TSchema[]) yield* patterns(one)
    if (schema.items !== undefined) yield* patterns(schema.items as TSchema)
    for (const one of Object.values((schema.properties ?? {}) as Record<string, TSchema>)) yield* patterns(one)
  }
  test('a pattern has its rule in words', () => {
    const all = places.flatMap(([, schema]) => [...patterns(schema)])
    expect(all.length).toBeGreaterThan(5)
    for (const { pattern, rule } of all) expect(rule, String(pattern)).toMatch(/^[a-z0-9]/)
  })

  test.each(places)('%s', (_, schema, place) => {
    for (const value of trials(schema)) {
      // only a body may be something else than an object
      if (place !== 'body' && (typeof value !== 'object' || value === null || Array.isArray(value))) continue
      for (const { msg } of faultsOf(schema, value, place)) {
        if (!OTHERS.test(msg)) expect(msg).toMatch(SENTENCE)
        // a node of a schema or a pattern is no rule for people
        expect(msg).not.toMatch(/Expected|undefined|NaN|\[object|\^|\\|\bstring\b|\binteger\b|boolean/)
      }
    }
  })
})

test.each<[TSchema, unknown, string, string]>([
  [Type.Integer({ minimum: 1, maximum: 5 }), 9, 'It must be a whole number from 1 to 5.', 'value_error'],
  [Type.Integer({ maximum: 5 }), 'x', 'It must be a whole number of at most 5.', 'type_error'],
  [
    Type.String({ minLength: 1, maxLength: 3 }),
    '',
    'It is empty. It must be text of 1 to 3 characters.',
    'value_error',
  ],
  [
    Type.Array(Type.Boolean(), { maxItems: 1 }),
    [true, false],
    'It has 2 entries. It must be a list of at most 1 entry, each true or false.',
    'value_error',
  ],
  [
    Type.Array(Type.String(), { uniqueItems: true }),
    ['a', 'a'],
    'It has an entry twice. Each may be there once. It must be a list, each text.',
    'value_error',
  ],
  [Type.Union([Type.Literal('x'), Type.Literal('y')]), 'z', 'It must be one of x, y.', 'value_error'],
  [Type.Union([Type.Literal('x'), Type.Null()]), 'z', 'It must be x, or null.', 'value_error'],
  [Type.Literal('x'), 'z', 'It must be x.', 'value_error'],
])('%j: %j', (schema, value, msg, type) => {
  const input = typeof value === 'object' ? null : value
  expect(faultsOf(Type.Object({ one: schema }), { one: value }, 'body')).toEqual([
    { loc: ['body', 'one'], msg, type, input },
  ])
})

test('a member too many is told with the names that there are, also where the schema closes the object', () => {
  for (const additionalProperties of [false, undefined])
    expect(
      faultsOf(
        Type.Object({ a: Type.Integer() }, additionalProperties === false ? { additionalProperties } : {}),
        { a: 1, b: 2 },
        'body',
      ),
    ).toEqual([{ loc: ['body', 'b'], msg: 'There is no such field. There are: a.', type: 'extra_forbidden', input: 2 }])
})

test('what is missing is told with what it must be', () => {
  expect(faultsOf(Type.Object({ days: Type.Integer({ minimum: 1 }) }), {}, 'body')).toEqual([
    {
      loc: ['body', 'days'],
      msg: 'It is missing. It must be a whole number of at least 1.',
      type: 'missing',
      input: null,
    },
  ])
})
