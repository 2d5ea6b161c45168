import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

/** A member of a request that its schema does not name. */
export interface UnknownMember {
  readonly path: readonly (string | number)[]
  /** The members that there are beside it. */
  readonly known: readonly string[]
  readonly value: unknown
}

type Members = Record<string, unknown>
const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null

/** The objects that the schema allows at its place: itself, or the members of its union. */
function objectsOf(schema: TSchema | undefined): readonly TSchema[] {
  const parts = (schema?.anyOf ?? schema?.allOf) as readonly TSchema[] | undefined
  if (parts !== undefined) return parts.flatMap(objectsOf)
  return schema === undefined ? [] : [schema]
}

/** The schemas that a member of these may have. */
function memberOf(schemas: readonly TSchema[], name: string): readonly TSchema[] {
  return schemas.flatMap(schema => {
    const members = (schema.properties ?? {}) as Readonly<Record<string, TSchema>>
    const one = Object.hasOwn(members, name) ? members[name] : (schema.items as TSchema | undefined)
    return objectsOf(one)
  })
}

const namesOf = (schemas: readonly TSchema[]): readonly string[] => [
  ...new Set(schemas.flatMap(schema => Object.keys((schema.properties ?? {}) as Members))),
]

function* compare(
  schemas: readonly TSchema[],
  { value, cleaned, path }: { readonly value: unknown; readonly cleaned: unknown; readonly path: readonly string[] },
): Generator<UnknownMember> {
  if (!isObject(value) || !isObject(cleaned) || schemas.some(schema => schema.additionalProperties === true)) return
  for (const [name, member] of Object.entries(value)) {
    const at = [...path, name]
    if (Object.hasOwn(cleaned, name))
      yield* compare(memberOf(schemas, name), { value: member, cleaned: cleaned[name], path: at })
    else yield { path: at, known: namesOf(schemas), value: member }
  }
}

/** Members at any depth that the schema does not name, in the order of the value. */
export function listUnknown(schema: TSchema, value: unknown): readonly UnknownMember[] {
  return [...compare(objectsOf(schema), { value, cleaned: Value.Clean(schema, structuredClone(value)), path: [] })]
}

/**
 * Removes members named like a property that every object has (`constructor`): TypeBox takes them for named by any
 * schema, and no schema names one.
 * @returns what was removed
 */
export function removeInherited(schema: TSchema, value: unknown): readonly UnknownMember[] {
  const removed: UnknownMember[] = []
  const walk = (schemas: readonly TSchema[], members: unknown, path: readonly string[]): void => {
    if (!isObject(members)) return
    for (const [name, member] of Object.entries(members)) {
      const at = [...path, name]
      if (name in Object.prototype) {
        removed.push({ path: at, known: namesOf(schemas), value: member })
        delete members[name]
      } else walk(memberOf(schemas, name), member, at)
    }
  }
  walk(objectsOf(schema), value, [])
  return removed
}
