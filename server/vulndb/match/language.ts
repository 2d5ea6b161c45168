import type { Advisory } from '../advisory.ts'
import { distribution } from './distribution.ts'
import type { ClassOf, Kind } from './matching-rules.ts'

/**
 * The public part of `2.0.0+cu118`: Python versions match by it unless the row itself names a local part. Source: PEP
 * 440, "Version matching"
 */
const publicPart = (version: string): string => version.replace(/\+[^+]*$/, '')

/** Joins the names of one vulnerability: advisories that share an alias are one class. */
function classesOf(advisories: readonly Advisory[]): ClassOf {
  const parent = new Map<string, string>()
  const find = (id: string): string => {
    const up = parent.get(id)
    if (up === undefined || up === id) return id
    const root = find(up)
    parent.set(id, root)
    return root
  }
  const names = new Set<string>()
  for (const { id, aliases = [] } of advisories) {
    for (const alias of [id, ...aliases]) {
      names.add(alias)
      parent.set(find(alias), find(id))
    }
  }
  const members = new Map<string, string[]>()
  for (const name of [...names].sort()) members.set(find(name), [...(members.get(find(name)) ?? []), name])
  return id => members.get(find(id)) ?? [id]
}

/**
 * Languages: advisories of several databases, joined by their aliases. One that says affected is
 * enough: none of them is a distribution's own table.
 */
export const language: Kind = {
  ...distribution,
  otherReading: (version, { spans }, order) =>
    order === 'pep440' && version.includes('+') && !spans.some(({ from, to = '' }) => `${from}${to}`.includes('+'))
      ? publicPart(version)
      : undefined,
  deciding: judged => judged,
  classesOf,
}
