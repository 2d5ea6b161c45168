import { holds, type Alternatives, type Provided, type Relation, type RelationOp } from '../../core/relation.ts'
import { trimBlanks } from '../../lib/blanks.ts'
import { malformed, quote } from '../../lib/limited.ts'
import { compareVersions, complainVersion } from './version.ts'

/**
 * `<` and `>` are what dpkg 1.x wrote for `<=` and `>=`; a bare version means exactly that one. dpkg warns and reads
 * on.
 */
const OPS: Readonly<Record<string, RelationOp>> = {
  '<<': '<',
  '<=': '<=',
  '<': '<=',
  '=': '=',
  '': '=',
  '>=': '>=',
  '>': '>=',
  '>>': '>',
}

/**
 * A name, perhaps `:architecture`, perhaps `(op version)`. Source: deb-control(5), "Depends"; names as dpkg reads them.
 */
const RELATION =
  /^([A-Za-z0-9][A-Za-z0-9+._-]*)(?::([a-z0-9][a-z0-9-]*))?[ \t\n]*(?:\([ \t\n]*(?:(<<|<=|<|=|>=|>>|>)[ \t\n]*)?([^\s()<>=]+)[ \t\n]*\))?$/

function parseRelation(text: string, field: string): Relation {
  const match = RELATION.exec(text)
  if (match === null) {
    return malformed(
      `the field ${field} holds ${quote(text)}, which is no relation: deb-control(5) wants a package name, perhaps followed by (>= version)`,
    )
  }
  const [, name = '', arch, op, version] = match
  const why = version === undefined ? undefined : complainVersion(version)
  if (why !== undefined) malformed(`the field ${field} asks for ${quote(text)}: ${why}`)
  return {
    name,
    ...(arch === undefined ? {} : { arch }),
    ...(version === undefined ? {} : { op: OPS[op ?? ''] ?? '=', version }),
  }
}

/**
 * Reads `Depends`, `Conflicts` and the like: needs between commas, alternatives between bars.
 * @throws Malformed for what dpkg refuses: an empty entry, architecture lists and build profiles, a substitution left
 *   over
 */
export function parseRelations(text: string, field: string): Alternatives[] {
  if (trimBlanks(text) === '') return []
  return text.split(',').map(group => group.split('|').map(one => parseRelation(trimBlanks(one), field)))
}

/** Reads `Provides`. A version bound other than `=` makes the entry void, as apt reads it. @throws Malformed */
export function parseProvides(text: string): Provided[] {
  return parseRelations(text, 'Provides').flatMap(alternatives => {
    const [only, ...more] = alternatives
    if (only === undefined || more.length > 0)
      return malformed('the field Provides holds alternatives (|), which it may not')
    if (only.op !== undefined && only.op !== '=') return []
    return [
      {
        name: only.name,
        ...(only.version === undefined ? {} : { version: only.version }),
        ...(only.arch === undefined || only.arch === 'any' ? {} : { arch: only.arch }),
      },
    ]
  })
}

/** Reads `Conflicts` and `Breaks`, which allow no alternatives. @throws Malformed */
export function parseConflicts(text: string, field: string): Alternatives[] {
  const conflicts = parseRelations(text, field)
  if (conflicts.some(alternatives => alternatives.length > 1))
    malformed(`the field ${field} holds alternatives (|), which it may not`)
  return conflicts
}

/** True when `have` satisfies `need`: an unversioned virtual package satisfies no versioned need (policy 7.5). */
export function satisfies(have: Provided, need: Relation): boolean {
  if (have.name !== need.name) return false
  if (need.op === undefined) return true
  return have.version !== undefined && holds(compareVersions(have.version, need.version ?? ''), need.op)
}
