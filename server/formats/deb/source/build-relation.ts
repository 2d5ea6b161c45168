import type { Alternatives } from '../../../core/relation.ts'
import { trimBlanks } from '../../../lib/blanks.ts'
import { malformed, quote } from '../../../lib/limited.ts'
import { parseRelations } from '../relation.ts'

const LIST = /^[ \t\n]*(?:\[([^\][]*)\][ \t\n]*)?((?:<[^<>]*>[ \t\n]*)*)$/
const ARCH = /^!?[a-z0-9][a-z0-9-]*$/
const PROFILE = /^!?[a-z0-9][a-z0-9.+-]*$/

/** Whether a need applies when no build profile is active: `<!nocheck>` does, `<stage1>` does not. */
function isNeeded(formulas: readonly (readonly string[])[]): boolean {
  return formulas.length === 0 || formulas.some(terms => terms.every(term => term.startsWith('!')))
}

const wordsOf = (text: string): readonly string[] => text.split(/[ \t\n]+/).filter(word => word !== '')

/** One relation without its lists of architectures and build profiles; undefined when it counts only in a profile. */
function plain(text: string, field: string): string | undefined {
  const at = /[[<](?![<=])(?![^(]*\))/.exec(text)?.index ?? text.length
  const match = LIST.exec(text.slice(at))
  if (match === null) return malformed(`the field ${field} holds ${quote(text)}; lists stand as [amd64] <!nocheck>`)
  const [, archs, profiles = ''] = match
  const formulas = [...profiles.matchAll(/<([^<>]*)>/g)].map(([, terms = '']) => wordsOf(terms))
  const odd = [
    ...wordsOf(archs ?? '').filter(word => !ARCH.test(word)),
    ...formulas.flat().filter(word => !PROFILE.test(word)),
  ][0]
  if (
    odd !== undefined ||
    (archs !== undefined && wordsOf(archs).length === 0) ||
    formulas.some(terms => terms.length === 0)
  )
    return malformed(
      `the field ${field} holds ${quote(text)}, where ${quote(odd ?? '')} is no architecture and no build profile`,
    )
  return isNeeded(formulas) ? trimBlanks(text.slice(0, at)) : undefined
}

/**
 * Reads `Build-Depends` and the like: the needs of any architecture, with no build profile active.
 * @throws Malformed
 * Source: policy 7.1; deb-src-control(5), "Build-Depends".
 */
export function parseBuildRelations(value: string, field: string): Alternatives[] {
  // a source package may have a comma after the last need
  const text = trimBlanks(value).replace(/,$/, '')
  if (text === '') return []
  return text.split(',').flatMap(group => {
    const alternatives = group.split('|').flatMap(one => plain(trimBlanks(one), field) ?? [])
    return alternatives.length === 0 ? [] : parseRelations(alternatives.join('|'), field)
  })
}
