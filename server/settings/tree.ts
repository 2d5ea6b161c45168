import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { fail } from '../core/errors.ts'
import { ONE_LINE } from './schema.ts'

/** A plain JSON object. */
export type Tree = Record<string, unknown>

export const MASK = '***'

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** True for a section: an object with named members. A record of free keys is a leaf of its own kind. */
const isSection = (schema: TSchema): boolean => schema.type === 'object' && isTree(schema.properties)
const memberOf = (schema: TSchema, key: string): TSchema | undefined =>
  Object.hasOwn((schema.properties ?? {}) as object, key) ? (schema.properties as Record<string, TSchema>)[key] : undefined
const dotted = (path: string, key: string): string => path === '' ? key : `${path}.${key}`

/** Visits every leaf: its dotted path, its schema and its value. */
export function* leaves(schema: TSchema, value: unknown, path = ''): Generator<{ readonly path: string; readonly schema: TSchema; readonly value: unknown }> {
  if (!isSection(schema)) {
    yield { path, schema, value }
    return
  }
  for (const [key, member] of Object.entries(schema.properties as Record<string, TSchema>)) {
    yield* leaves(member, isTree(value) ? value[key] : undefined, dotted(path, key))
  }
}

/** Copies the tree with every leaf replaced by what `turn` makes of it; leaves it makes undefined are left out. */
export function mapLeaves(schema: TSchema, value: Tree, turn: (leaf: { readonly path: string; readonly schema: TSchema; readonly value: unknown }) => unknown): Tree {
  const result: Tree = {}
  for (const leaf of leaves(schema, value)) {
    const turned = turn(leaf)
    if (turned === undefined) continue
    const keys = leaf.path.split('.')
    const last = keys.pop() ?? ''
    let at = result
    for (const key of keys) at = (at[key] ??= {}) as Tree
    at[last] = turned
  }
  return result
}

/** The rule a value breaks, in words. */
function rule(schema: TSchema): string {
  const { type, enum: words, minimum, maximum, maxLength, pattern } = schema as { type?: string; enum?: string[]; minimum?: number; maximum?: number; maxLength?: number; pattern?: string }
  if (words !== undefined) return `it must be one of ${words.join(', ')}`
  if (type === 'integer') return `it must be a whole number from ${minimum ?? ''} to ${maximum ?? ''}`
  if (type === 'number') return `it must be a number from ${minimum ?? ''} to ${maximum ?? ''}`
  if (type === 'boolean') return 'it must be true or false'
  if (type === 'string') return `it must be text of at most ${maxLength ?? ''} characters${pattern === undefined ? '' : pattern === ONE_LINE ? ' on one line' : ` of the form ${pattern}`}`
  return 'it must be an object of names with true or false'
}

/**
 * Lays `change` over `base`: sections are merged, leaves replaced, records merged key by key, `***` for a secret skipped.
 * @throws unknown_setting, bad_setting, naming the dotted key
 */
export function overlay(schema: TSchema, base: Tree, change: unknown, path = ''): Tree {
  if (!isTree(change)) return fail('bad_setting', { key: path === '' ? 'settings' : path, why: 'it must be an object' })
  const result: Tree = { ...base }
  for (const [key, value] of Object.entries(change)) {
    const here = dotted(path, key)
    const member = memberOf(schema, key) ?? fail('unknown_setting', { key: here.slice(0, 200) })
    if (isSection(member)) {
      result[key] = overlay(member, isTree(base[key]) ? base[key] : {}, value, here)
      continue
    }
    if (member.secret === true && value === MASK) continue
    const next = member.type === 'object' && isTree(value) && isTree(base[key]) ? { ...base[key], ...value } : value
    if (!Value.Check(member, next)) fail('bad_setting', { key: here, why: rule(member) })
    result[key] = next
  }
  return result
}
