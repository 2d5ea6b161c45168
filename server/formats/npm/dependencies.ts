import type { Alternatives } from '../../core/relation.ts'
import { fieldsOf, type Fields } from '../../lib/fields.ts'
import { malformed } from '../../lib/limited.ts'
import { complainName } from './name.ts'
import { cleanRange } from './version.ts'

/** More of one kind than any real package has. */
const MOST = 5_000

/** `"a": "^1.0.0"` as a map; nothing where the field is absent. @throws Malformed for anything else */
export function readDependencies(json: Fields, field: string): ReadonlyMap<string, string> {
  const value = json[field]
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return new Map()
  if (typeof value !== 'object' || Array.isArray(value))
    return malformed(`package.json: ${field} is no object of names and versions`)
  const pairs = Object.entries(value as Fields)
  if (pairs.length > MOST) malformed(`package.json: ${field} names more than ${MOST} packages, the most it may`)
  return new Map(
    pairs.map(([name, range]) =>
      typeof range === 'string'
        ? [name, range.trim()]
        : malformed(`package.json: ${field} gives ${name.slice(0, 80)} no version`),
    ),
  )
}

/** Names of packages whose files are inside; true stands for all dependencies. */
export function readBundled(json: Fields): ReadonlySet<string> {
  const value = json['bundleDependencies'] ?? json['bundledDependencies']
  if (value === true) return new Set(readDependencies(json, 'dependencies').keys())
  return new Set(Array.isArray(value) ? value.filter(one => typeof one === 'string') : [])
}

/**
 * The need behind one entry: `npm:real@^1` is for another name, a tag takes every version. Undefined for what comes
 * from an address, which is no need of a registry. Source: docs.npmjs.com, package.json, "dependencies".
 */
function needOf(name: string, spec: string): Alternatives | undefined {
  const [, alias, aliased] = /^npm:((?:@[^/@]+\/)?[^@]+)(?:@(.*))?$/s.exec(spec) ?? []
  const wanted = alias ?? name
  const text = alias === undefined ? spec : (aliased ?? '')
  if (complainName(wanted) !== undefined) return undefined
  const range = cleanRange(text)
  if (range !== undefined) return [range === '*' ? { name: wanted } : { name: wanted, op: '=', version: range }]
  return /^[A-Za-z][\w.-]*$/.test(text) ? [{ name: wanted }] : undefined
}

/**
 * What must be there for a version to be installed: dependencies and peers, without optional ones and those that are
 * inside. The version of a need is a range, with the sign `=`.
 * @throws Malformed
 */
export function needsOf(json: Fields): Alternatives[] {
  const bundled = readBundled(json)
  const optional = readDependencies(json, 'optionalDependencies')
  const meta = fieldsOf(json['peerDependenciesMeta'])
  const peers = [...readDependencies(json, 'peerDependencies')].filter(
    ([name]) => !(Object.hasOwn(meta, name) && fieldsOf(meta[name])['optional'] === true),
  )
  const wanted = new Map([...peers, ...readDependencies(json, 'dependencies')])
  return [...wanted].flatMap(([name, spec]) => {
    const need = bundled.has(name) || optional.has(name) ? undefined : needOf(name, spec)
    return need === undefined ? [] : [need]
  })
}
