import { exceptionId, isLicenceRef, licenceId, spellingsOf } from './ids.ts'
import { foldLater, licencesNamed, namesOthers } from './names.ts'

/**
 * Whether what a package says of its licence is free of what is forbidden. `unknown`: it says none, or something that
 * is neither an SPDX expression nor a well-known name; it is never taken for `free`.
 */
export type Standing = 'free' | 'unknown' | 'forbidden'

export interface LicenceVerdict {
  readonly standing: Standing
  /** The forbidden licences that decide, by their identifiers; empty where `standing` is another one. */
  readonly because: readonly string[]
}

/** What an expression is made of; several `ids`: one of them. */
type Part =
  | { readonly is: 'licence'; readonly ids: readonly string[] }
  /** `isProse`: it may say more than one licence. */
  | { readonly is: 'unknown'; readonly word: string; readonly isProse: boolean }
  | { readonly is: 'AND' | 'OR'; readonly of: readonly Part[] }

const MOST_CHARS = 2_000
const MOST_WORDS = 200
const RANK: Readonly<Record<Standing, number>> = { free: 0, unknown: 1, forbidden: 2 }
const UNKNOWN: LicenceVerdict = { standing: 'unknown', because: [] }

/** How prose says that there is an exception: `with classpath exception`. */
const EXCEPTION = /^(?:\S+ ){0,4}exceptions?$/i

/** A licence as it stands between operators. */
function partOf(words: readonly string[]): Part {
  const text = words.join(' ')
  if (isLicenceRef(text)) return { is: 'unknown', word: text, isProse: false }
  const ids = licencesNamed(text)
  return ids === undefined ? { is: 'unknown', word: text, isProse: true } : { is: 'licence', ids }
}

/**
 * Takes a text apart: WITH binds most, OR least. Undefined where brackets do not fit. Source: SPDX 2.3, annex D.4
 */
function parse(text: string): Part | undefined {
  const words = foldLater(text).replace(/[()]/g, ' $& ').trim().split(/\s+/)
  if (words.length > MOST_WORDS) return undefined
  let at = 0
  const operator = (): string | undefined => /^(?:AND|OR|WITH)$/i.exec(words[at] ?? '')?.[0].toUpperCase()
  const run = (): string[] => {
    const found: string[] = []
    while (at < words.length && operator() === undefined && words[at] !== '(' && words[at] !== ')')
      found.push(words[at++] ?? '')
    return found
  }
  const simple = (): Part | undefined => {
    if (words[at] === '(') {
      at++
      const inside = joined('OR')
      return words[at++] === ')' ? inside : undefined
    }
    const found = run()
    if (found.length === 0) return undefined
    if (operator() === 'WITH') {
      at++
      const behind = run()
      if (behind.length === 0) return undefined
      const text = behind.join(' ')
      // something else than an exception may be another licence
      if (exceptionId(text) === undefined && !EXCEPTION.test(text))
        return { is: 'AND', of: [partOf(found), partOf(behind)] }
    }
    return partOf(found)
  }
  const joined = (by: 'AND' | 'OR'): Part | undefined => {
    const of: Part[] = []
    do {
      const part = by === 'OR' ? joined('AND') : simple()
      if (part === undefined) return undefined
      of.push(part)
    } while (operator() === by && at++ < words.length)
    const [first, ...others] = of
    return others.length === 0 ? first : { is: by, of }
  }
  const whole = joined('OR')
  return at === words.length ? whole : undefined
}

/** A line that is nothing but another licence than these. */
const isOther = (line: string, ids: readonly string[]): boolean =>
  licencesNamed(line.replace(/^(?:and|or)\s+/i, '')) !== undefined && namesOthers(line, ids)

/** The licence by its name, or by the title where its whole text is given. */
function readTitle(text: string): Part | undefined {
  const lines = text.split('\n').flatMap(line => (line.trim() === '' ? [] : [line.trim()]))
  for (const count of [2, 1]) {
    const ids = lines.length < count ? undefined : licencesNamed(lines.slice(0, count).join(' '))
    if (ids !== undefined && !lines.slice(count).some(line => isOther(line, ids))) return { is: 'licence', ids }
  }
  return undefined
}

function weigh(part: Part, isForbidden: (id: string) => boolean): LicenceVerdict {
  if (part.is === 'unknown') return isForbidden(part.word) ? { standing: 'forbidden', because: [part.word] } : UNKNOWN
  if (part.is === 'licence') {
    const hits = part.ids.filter(isForbidden)
    if (hits.length === 0) return { standing: 'free', because: [] }
    return hits.length === part.ids.length ? { standing: 'forbidden', because: hits } : UNKNOWN
  }
  const all = part.of.map(one => weigh(one, isForbidden))
  const ranks = all.map(({ standing }) => RANK[standing])
  const wanted = part.is === 'AND' ? Math.max(...ranks) : Math.min(...ranks)
  const deciding = all.filter(({ standing }) => RANK[standing] === wanted)
  return {
    standing: deciding[0]?.standing ?? 'unknown',
    because: [...new Set(deciding.flatMap(({ because }) => because))],
  }
}

const hasProse = (part: Part): boolean =>
  part.is === 'unknown' ? part.isProse : part.is === 'licence' ? false : part.of.some(hasProse)

/** Whether an entry of the list means a licence: by its identifier, or with `*` by how that begins. */
function means(entry: string, id: string): boolean {
  const wanted = entry.toLowerCase()
  return wanted.endsWith('*')
    ? spellingsOf(id).some(one => one.startsWith(wanted.slice(0, -1)))
    : spellingsOf(id).includes(wanted)
}

/**
 * Compares what a package says of its licence with the list. Of alternatives (`OR`) one that is free is enough; of what
 * counts together (`AND`) each has to be. An exception (`WITH`) changes nothing; what is none counts together, too.
 * @param declared  an SPDX expression, well-known names, or anything else; undefined or empty: it says none
 * @param forbidden  identifiers; `AGPL-3.0` means `AGPL-3.0-only` and `AGPL-3.0-or-later` too, `AGPL-*` all of that
 * beginning
 */
export function judgeLicence(declared: string | undefined, forbidden: readonly string[]): LicenceVerdict {
  const said = declared ?? ''
  const text = said.slice(0, MOST_CHARS).trim()
  if (text === '') return UNKNOWN
  const isForbidden = (id: string): boolean => forbidden.some(entry => means(entry, id))
  const whole = readTitle(text) ?? parse(text)
  if (whole === undefined) return UNKNOWN
  const found = weigh(whole, isForbidden)
  // prose may say more than was understood, and so may what was cut off, unless it is the text of a licence
  const isCut = said.length >= MOST_CHARS && !text.includes('\n')
  return found.standing === 'free' && (isCut || hasProse(whole)) ? UNKNOWN : found
}

/** What stands between identifiers in an expression. */
const isSign = (word: string): boolean => /^(?:AND|OR|WITH|[()])$/.test(word)

/** The text as an SPDX expression of licences of the list, or undefined where it is none. */
export function spdxExpression(text: string): string | undefined {
  const words = text
    .slice(0, MOST_CHARS)
    .replace(/[()]/g, ' $& ')
    .trim()
    .split(/\s+/)
    .map(word => (/^(?:and|or|with)$/i.test(word) ? word.toUpperCase() : word))
  const spelled = words.map((word, at) =>
    isSign(word) ? word : words[at - 1] === 'WITH' ? exceptionId(word) : licenceId(word),
  )
  const isProse = words.some((word, at) => !isSign(word) && !isSign(words[at + 1] ?? ')'))
  if (isProse || spelled.includes(undefined) || parse(words.join(' ')) === undefined) return undefined
  return spelled.join(' ').replace(/\( /g, '(').replace(/ \)/g, ')')
}
