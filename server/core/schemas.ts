import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { ROLES, type Role } from './access.ts'
import type { Meanwhile } from './policy.ts'

/* Pieces for the rows of every topic. What only one topic answers stands in its contract. */
export const Text = Type.String()
/** ISO 8601, in UTC. */
export const Time = Type.String({ format: 'date-time' })
/** A filter: a day, or a moment; both in UTC unless an offset is given. */
export const Moment = Type.Optional(
  Type.String({
    maxLength: 40,
    rule: 'a day or a time such as 2026-03-01 or 2026-03-01T12:00:00Z',
    pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:\\d{2})?)?$',
  }),
)
/** How people call a key that they trust. */
export const KeyName = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9@ ._-]{0,79}$',
  rule: '1 to 80 letters, digits, blanks, @, ., _ or -, and first a letter or digit',
})

/** The answer of an act without further content. */
export const Done = Type.Object({ message: Text })

/** The same, or null where there is none. */
export const OrNull = <T extends TSchema>(schema: T) => Type.Unsafe<Static<T> | null>(Type.Union([schema, Type.Null()]))

/** One of these values. TypeBox checks literals; the `enum` of a string is only displayed. */
export function oneOf<const W extends string>(words: readonly W[]) {
  return Type.Unsafe<W>(Type.Union(words.map(word => Type.Literal(word))))
}

/** The same, and listed as `enum` for those who read the documentation. */
export function listed<const W extends string>(words: readonly W[]) {
  return Type.Unsafe<W>(
    Type.Union(
      words.map(word => Type.Literal(word)),
      { enum: [...words] },
    ),
  )
}

/** A whole number under each name. */
export const counts = (names: readonly string[]): TSchema =>
  Type.Object(Object.fromEntries(names.map(name => [name, Type.Integer()])))

/** What becomes of uploads while an engine cannot look; see `whileUnavailable`. */
export const MeanwhileSchema = Type.Unsafe<Meanwhile>(
  Type.Object({ uploads: listed(['hold', 'warn', 'unchecked']), said: Text }),
)

/** What a filter may name beside fixed words; which there are depends on the repositories that the caller sees. */
export type WordKind = 'distribution' | 'format' | 'arch'

const knownWord = (known: WordKind, maxLength: number) => Type.Optional(Type.String({ maxLength, known }))
/** A codename as a filter. The server refuses one that the caller does not see, as one that never was. */
export const DistributionFilter = knownWord('distribution', 80)
/** A package format as a filter. */
export const FormatFilter = knownWord('format', 20)
/** An architecture as a filter, `all` and `noarch` included. */
export const ArchFilter = knownWord('arch', 80)

export const RoleName = listed<Role>(ROLES)

/** The version of a package that a path names. */
export const NameVersion = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 300 }),
  version: Type.String({ minLength: 1, maxLength: 300 }),
})
/** The distribution that a path names. */
export const CodenamePath = Type.Object({ codename: Type.String({ maxLength: 80 }) })
