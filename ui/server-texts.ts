/// <reference path="./virtual-texts.d.ts" />
import { language } from './language.ts'
import { phrase } from './show.ts'
import { severityWord } from './words.ts'

/** A sentence of the server as its source has it, with `{placeholders}`, and its German. */
export type Pair = readonly [english: string, german: string]

interface Pattern {
  readonly matches: RegExp
  readonly names: readonly string[]
  readonly german: string
}

const MARK = /\{(\w+)\}/g
const COUNTS = /^\d+ [a-z]+(?:, \d+ [a-z]+)*$/
/** `1.4 GB`: a number with its unit, never a version. */
const AMOUNT = /^\d+\.\d+$/
const UNIT = /^ (?:[kKMGT]?B|%)(?![\w])/
const BETWEEN = /(?<=[.!?]) (?=[\p{Lu}\d])/u
const escaped = (text: string): string => text.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')
const isSeveral = (fact: string): boolean => BETWEEN.test(fact)
/** `{0}: {1}` would fit anything. */
const saysSomething = (english: string): boolean => (english.replace(MARK, ' ').match(/\p{L}{2,}/gu) ?? []).length > 1

function patternOf([english, german]: Pair): Pattern {
  const parts = english.split(MARK) // text, name, text, name, text
  // what a sentence may bring behind its end is there or not
  const mayLack = (n: number): boolean =>
    n === parts.length - 2 && parts.at(-1) === '' && /[.!?]$/.test(parts[n - 1] ?? '')
  const source = parts.map((part, n) => (n % 2 === 1 ? (mayLack(n) ? '(.*?)' : '(.+?)') : escaped(part))).join('')
  return { matches: new RegExp(`^${source}$`, 's'), names: parts.filter((_, n) => n % 2 === 1), german }
}

/**
 * Reads the server's sentences in another language: whole ones, several in a row, and those in a fact of another. What
 * it does not know stays as it is.
 */
export function reader(pairs: readonly Pair[], severity = severityWord): (said: string) => string {
  const whole = new Map(pairs.filter(([english]) => !english.includes('{')))
  // the one that says most fits best
  const patterns = pairs
    .filter(([english]) => english.includes('{') && saysSomething(english))
    .toSorted(([a], [b]) => b.replace(MARK, '').length - a.replace(MARK, '').length)
    .map(patternOf)
  const before = new Map<string, string>()

  function one(said: string, isRow: (fact: string) => boolean): string | undefined {
    const known = whole.get(said)
    if (known !== undefined) return known
    for (const { matches, names, german } of patterns) {
      const facts = matches.exec(said)?.slice(1)
      if (facts !== undefined && !facts.some(isRow))
        return german.replace(MARK, (mark: string, name: string, at: number) => {
          const fact = read(facts[names.indexOf(name)] ?? '')
          return AMOUNT.test(fact) && UNIT.test(german.slice(at + mark.length)) ? fact.replace('.', ',') : fact
        })
    }
    return undefined
  }

  const facts = [...whole.keys()].filter(one => /^\p{Ll}/u.test(one)).toSorted((a, b) => b.length - a.length)
  const does = /* @wc-ignore */ `(\\S+) (${facts.map(escaped).join('|') || '$.'})(?: \\(line (\\d+))?(?=[:).;,]| \\(|$)`
  const beginsWithFact = /* @wc-ignore */ new RegExp(`^(?:New: )?${does}`, 'u')
  const everyFact = /* @wc-ignore */ new RegExp(`(?<=^|; |New: )${does}`, 'gu')

  /** `postinst opens a connection (line 3: curl a); b is a device`: a name and what it does, one behind the other. */
  function inFacts(said: string): string | undefined {
    if (!beginsWithFact.test(said)) return undefined
    return said
      .replace(everyFact, (_, name: string, fact: string, line?: string) =>
        [`${name} ${whole.get(fact) ?? fact}`, ...(line === undefined ? [] : [`(${phrase('line')} ${line}`])].join(' '),
      )
      .replace(/^New: /, () => `${phrase('New:')} `)
      .replace(/, and (\d+) more(?=\.?$)/, (_, n: string) => `, ${phrase('and more:')} ${n}`)
  }

  /** `2 critical, 1 low`, or what is known before a colon: `Debian package (.deb): hello 1.0 (amd64).` */
  function inPieces(said: string): string | undefined {
    if (COUNTS.test(said)) return said.replace(/[a-z]+/g, severity)
    const [, first = '', rest = ''] = /^([^:]+): (.+)$/s.exec(said) ?? []
    const german = whole.get(first)
    return german === undefined ? undefined : `${german}: ${read(rest)}`
  }

  /** The longest row of sentences that is known, from each place on. */
  function inParts(said: string): string | undefined {
    const sentences = said.split(BETWEEN)
    const done: string[] = []
    let isKnown = false
    for (let at = 0; at < sentences.length;) {
      let end = sentences.length > 1 ? sentences.length : at
      let german: string | undefined
      while (end > at && (german = one(sentences.slice(at, end).join(' '), isSeveral)) === undefined) end--
      german ??= inFacts(sentences[at] ?? '') ?? inPieces(sentences[at] ?? '')
      isKnown ||= german !== undefined
      done.push(german ?? sentences[at] ?? '')
      at = Math.max(end, at + 1)
    }
    return isKnown ? done.join(' ') : undefined
  }

  function read(said: string): string {
    if (!said.includes(' ')) return said // a name, not a sentence
    const known = before.get(said)
    if (known !== undefined) return known
    const german =
      one(said, isSeveral) ?? inParts(said) ?? one(said, () => false) ?? inFacts(said) ?? inPieces(said) ?? said
    if (before.size > 5_000) before.clear()
    before.set(said, german)
    return german
  }
  return read
}

const pairs: readonly Pair[] = language === 'de' ? (await import('virtual:server-texts')).pairs : []
const read = reader(pairs)
/** What people wrote, and what is sent back as it came. */
const KEPT = new Set(['comment', 'default', 'justification', 'name', 'summary', 'value', 'values'])

/** An answer of the server with its sentences in the language of the page. */
export function spoken<T>(answer: T): T {
  if (pairs.length === 0) return answer
  return walk(answer) as T
}

function walk(part: unknown): unknown {
  if (typeof part === 'string') return read(part)
  if (Array.isArray(part)) return part.map(walk)
  if (typeof part !== 'object' || part === null) return part
  // the jobs of the clock are named by the server, everything else by people
  const isJob = 'next_run' in part
  const isKept = (key: string): boolean => KEPT.has(key) && !(isJob && key === 'name')
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, isKept(key) ? value : walk(value)]))
}
