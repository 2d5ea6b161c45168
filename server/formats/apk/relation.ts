import { holds, type Alternatives, type Provided, type Relation, type RelationOp } from '../../core/relation.ts'
import { malformed, quote } from '../../lib/limited.ts'
import { beginsAs, compareVersions, complainVersion } from './version.ts'

/** apk-tools writes a relation into 256 bytes when it keeps what is installed. */
const MAX_RELATION = 240

/**
 * `[!]name[op version]`; names as in `so:libc.musl-x86_64.so.1`, `/bin/sh`, `py3.12:x[y]`. Source: apk-package(5),
 * "depend"; src/ctype.c
 */
const RELATION = /^(!?)([A-Za-z0-9_+,.:/[\]-]+)(?:([<>=~]+)([^<>=~]+))?$/

/** Any order of the signs means the same to apk; a tilde takes every version that begins so. */
const OPS: Readonly<Record<string, RelationOp>> = {
  '<': '<',
  '<=': '<=',
  '=': '=',
  '=>': '>=',
  '>': '>',
  '~': '=',
  '=~': '=',
  '<~': '<=',
  '>~': '>=',
  '<=~': '<=',
  '=>~': '>=',
}

interface Parsed {
  readonly isConflict: boolean
  readonly relation: Relation
}

/** @throws Malformed for what apk does not read: it drops the rest of the line then */
function parseRelation(text: string, field: string): Parsed {
  const match = RELATION.exec(text)
  if (match === null || text.length > MAX_RELATION) {
    return malformed(
      `the field ${field} holds ${quote(text)}, which is no relation: apk-package(5) wants a name, perhaps followed by >=version`,
    )
  }
  const [, mark, name = '', signs, version] = match
  if (signs === undefined || version === undefined) return { isConflict: mark === '!', relation: { name } }
  const sorted = [...new Set(signs)].sort().join('')
  if (sorted === '<>')
    return malformed(
      `the field ${field} asks for ${quote(text)}: a checksum (><) names one build, and cannot be checked here`,
    )
  const op = OPS[sorted]
  if (op === undefined) return malformed(`the field ${field} asks for ${quote(text)}: ${quote(signs)} compares nothing`)
  const why = complainVersion(version)
  if (why !== undefined) malformed(`the field ${field} asks for ${quote(text)}: ${why}`)
  return { isConflict: mark === '!', relation: { name, op, version: sorted.includes('~') ? `~${version}` : version } }
}

/** Reads `depend` lines: needs, and conflicts (`!name`). */
export interface Depends {
  readonly depends: readonly Alternatives[]
  readonly conflicts: readonly Alternatives[]
}

/**
 * @param words  relations, one each
 * @returns relations; a version that begins with `~` stands for every version that begins as the rest of it
 * @throws Malformed
 */
export function parseDepends(words: readonly string[], field: string): Depends {
  const parsed = words.map(word => parseRelation(word, field))
  const pick = (isConflict: boolean): Alternatives[] =>
    parsed.filter(one => one.isConflict === isConflict).map(({ relation }) => [relation])
  return { depends: pick(false), conflicts: pick(true) }
}

/** Reads `provides` lines: virtual names, with or without a version. @throws Malformed */
export function parseProvides(words: readonly string[]): Provided[] {
  return words.map(word => {
    const {
      isConflict,
      relation: { name, op, version },
    } = parseRelation(word, 'provides')
    if (isConflict || (op !== undefined && op !== '=') || version?.startsWith('~') === true) {
      return malformed(`the field provides holds ${quote(word)}; a name is needed, perhaps followed by =version`)
    }
    return { name, ...(version === undefined ? {} : { version }) }
  })
}

/**
 * True when `have` satisfies `need`. A virtual name without a version satisfies no bound, as apk-tools 2 reads it,
 * which the distributions here ship; apk-tools 3 lets it satisfy every one.
 */
export function satisfies(have: Provided, need: Relation): boolean {
  if (have.name !== need.name) return false
  if (need.op === undefined || need.version === undefined) return true
  if (have.version === undefined) return false
  if (need.version.startsWith('~')) {
    const prefix = need.version.slice(1)
    return beginsAs(have.version, prefix) || holds(compareVersions(have.version, prefix), need.op)
  }
  return holds(compareVersions(have.version, need.version), need.op)
}
