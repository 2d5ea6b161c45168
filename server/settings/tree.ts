import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { AppError } from '../core/errors.ts'
import { printRule } from '../core/rule.ts'

/** A plain JSON object. */
export type Tree = Record<string, unknown>

export const MASK = '***'

/** The most faults that are reported of one change. */
const MOST_TOLD = 99

/** Whether a value has named members, as sections do. */
export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** True for a section: an object with named members. A record of free keys counts as a leaf. */
const isSection = (schema: TSchema): boolean => schema.type === 'object' && isTree(schema.properties)
const memberOf = (schema: TSchema, key: string): TSchema | undefined =>
  Object.hasOwn((schema.properties ?? {}) as object, key)
    ? (schema.properties as Record<string, TSchema>)[key]
    : undefined
const dotted = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)

export interface Leaf {
  readonly path: string
  readonly schema: TSchema
  readonly value: unknown
  /** Why this version does nothing with the setting, or with its section. */
  readonly inert?: string | undefined
}

/** Visits every leaf with its dotted path, its schema and its value. */
export function* leaves(schema: TSchema, value: unknown, path = '', above?: string): Generator<Leaf> {
  const inert = (schema.inert as string | undefined) ?? above
  if (!isSection(schema)) {
    yield { path, schema, value, inert }
    return
  }
  for (const [key, member] of Object.entries(schema.properties as Record<string, TSchema>)) {
    yield* leaves(member, isTree(value) ? value[key] : undefined, dotted(path, key), inert)
  }
}

/** Copies the tree and replaces every leaf by what `turn` returns; leaves out those that become undefined. */
export function mapLeaves(schema: TSchema, value: Tree, turn: (leaf: Leaf) => unknown): Tree {
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

/** The rule that a value breaks, in words. */
function rule(schema: TSchema, value: unknown): string {
  const { type, maxLength = Infinity } = schema as { readonly type?: string; readonly maxLength?: number }
  return type === 'string' && typeof value === 'string' && value.length > maxLength
    ? `it has ${value.length} characters and may have ${maxLength}`
    : `it must be ${printRule(schema)}`
}

/** What a schema has against a value that follows its pattern. */
function complaint(schema: TSchema, value: unknown): string | undefined {
  const { complain } = schema as { readonly complain?: (value: string) => string | undefined }
  return typeof value === 'string' ? complain?.(value) : undefined
}

export const refusal = <Code extends 'unknown_setting' | 'bad_setting' | 'setting_not_available'>(
  code: Code,
  facts: Readonly<Record<string, unknown>> & { readonly key: string },
): AppError => new AppError(code, facts)

/** Throws all faults as one error: the first, with the others among its facts. */
export function refuseAll(faults: readonly AppError[]): void {
  const [first, ...others] = faults
  if (first === undefined) return
  if (others.length === 0) throw first
  throw new AppError(first.code, {
    ...first.facts,
    others: others.slice(0, MOST_TOLD).map(({ code, message, facts: { key, why } }) => ({ code, message, key, why })),
  })
}

/**
 * Lays `change` over `base`: merges sections, replaces leaves, merges records key by key, skips `***` for a secret.
 * Reports what cannot be laid in `faults`, each with its dotted key.
 */
export function lay(
  schema: TSchema,
  base: Tree,
  change: unknown,
  { path, faults }: { readonly path: string; readonly faults: AppError[] },
): Tree {
  if (!isTree(change)) {
    faults.push(refusal('bad_setting', { key: path === '' ? 'settings' : path, why: 'it must be an object' }))
    return base
  }
  const result: Tree = { ...base }
  for (const [key, value] of Object.entries(change)) {
    const here = dotted(path, key)
    const member = memberOf(schema, key)
    if (member === undefined) {
      const known = Object.keys(schema.properties as object).join(', ')
      faults.push(
        refusal('unknown_setting', {
          key: here.slice(0, 200),
          known: path === '' ? `there are ${known}` : `${path} has ${known}`,
        }),
      )
    } else if (isSection(member)) {
      result[key] = lay(member, isTree(base[key]) ? base[key] : {}, value, { path: here, faults })
    } else if (member.secret !== true || value !== MASK) {
      const next = member.type === 'object' && isTree(value) && isTree(base[key]) ? { ...base[key], ...value } : value
      const why = Value.Check(member, next) ? complaint(member, next) : rule(member, value)
      if (why === undefined) result[key] = next
      else faults.push(refusal('bad_setting', { key: here, why }))
    }
  }
  return result
}

/** As `lay`, for one change. @throws unknown_setting, bad_setting, naming every faulty key */
export function overlay(schema: TSchema, base: Tree, change: unknown, path = ''): Tree {
  const faults: AppError[] = []
  const result = lay(schema, base, change, { path, faults })
  refuseAll(faults)
  return result
}
