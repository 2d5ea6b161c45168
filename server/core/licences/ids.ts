import { EXCEPTION_IDS, LICENCE_IDS } from './spdx-ids.ts'

const spelled = (ids: readonly string[]): ReadonlyMap<string, string> =>
  new Map(ids.map(id => [id.toLowerCase(), id] as const))
const LICENCES = spelled(LICENCE_IDS)
const EXCEPTIONS = spelled(EXCEPTION_IDS)

/**
 * An identifier of the SPDX licence list as the list writes it, whatever the case, and with `+` where that stands
 * behind it; undefined for other words. Source: SPDX 2.3, annex D.2
 */
export function licenceId(word: string): string | undefined {
  const isLater = word.endsWith('+')
  const lower = word.toLowerCase()
  const exact = LICENCES.get(lower)
  const base = isLater ? LICENCES.get(lower.slice(0, -1)) : undefined
  return exact ?? (base === undefined ? undefined : `${base}+`)
}

/** The same of exceptions, which stand behind WITH. */
export const exceptionId = (word: string): string | undefined => EXCEPTIONS.get(word.toLowerCase())

/** A licence of somebody's own, which is on no list. */
export const isLicenceRef = (word: string): boolean =>
  /^(?:DocumentRef-[A-Za-z0-9.-]+:)?LicenseRef-[A-Za-z0-9.-]+$/i.test(word)

/**
 * All ways to write what a licence is, in lower case: `agpl-3.0`, `agpl-3.0-only` and `agpl-3.0-or-later` are three
 * licences that one pattern may mean. An identifier without `-only` or `-or-later` means `-only`, where there is one.
 */
export function spellingsOf(id: string): readonly string[] {
  const lower = id.toLowerCase()
  const [, base = lower, ending] = /^(.+?)(\+|-or-later|-only|-with-[a-z-]+)$/.exec(lower) ?? []
  if (ending === '+' || ending === '-or-later') return [lower, base, `${base}+`, `${base}-or-later`]
  const only = `${base}-only`
  return [lower, base, ...(LICENCES.has(only) ? [only] : [])]
}
