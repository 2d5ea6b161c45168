import calculator from 'ae-cvss-calculator'
import type { Severity } from '../../core/findings.ts'

/** A base score and its origin. `version` is `4.0`, `3.1`, `3.0` or `2.0`. */
export interface Score {
  readonly version: string
  readonly vector: string
  readonly score: number
}

const { Cvss2, Cvss3P0, Cvss3P1, Cvss4P0 } = calculator
const VERSIONS: readonly (readonly [prefix: string, version: string, base: (vector: string) => number | undefined])[] =
  [
    ['CVSS:4.0/', '4.0', vector => new Cvss4P0(vector).calculateScores(false).overall],
    ['CVSS:3.1/', '3.1', vector => new Cvss3P1(vector).calculateScores(false).base],
    ['CVSS:3.0/', '3.0', vector => new Cvss3P0(vector).calculateScores(false).base],
    ['AV:', '2.0', vector => new Cvss2(vector).calculateScores(false).base],
  ]

const scored = new Map<string, Score | undefined>()

/** The base score of a CVSS vector of any version, or undefined when it is none. Source: FIRST, CVSS 2.0 to 4.0. */
export function scoreOf(text: string): Score | undefined {
  if (scored.has(text)) return scored.get(text)
  const vector = text.replace(/^\(|\)$/g, '').trim()
  const found = VERSIONS.find(([prefix]) => vector.startsWith(prefix))
  let score: number | undefined
  try {
    score = found === undefined || vector.length > 400 ? undefined : found[2](vector)
  } catch {
    score = undefined // the vector has metrics or values that its version does not have
  }
  const whole =
    found === undefined || score === undefined || !Number.isFinite(score)
      ? undefined
      : { version: found[1], vector, score }
  if (scored.size >= 50_000) scored.clear()
  scored.set(text, whole)
  return whole
}

/** The qualitative rating of a score. Source: CVSS 3.1, 5; 2.0 has no critical (NVD). */
export function ratingOf({ version, score }: Pick<Score, 'version' | 'score'>): Severity {
  if (score === 0) return 'negligible'
  if (version === '2.0') return score >= 7 ? 'high' : score >= 4 ? 'medium' : 'low'
  return score >= 9 ? 'critical' : score >= 7 ? 'high' : score >= 4 ? 'medium' : 'low'
}

/** Which of several vectors counts: 4.0 before 3.1 before 3.0 before 2.0, and of one version the highest. */
export function bestScore(vectors: readonly string[]): Score | undefined {
  return vectors
    .map(scoreOf)
    .filter(score => score !== undefined)
    .sort((a, b) => Number(b.version) - Number(a.version) || b.score - a.score)[0]
}

/**
 * The words of distributions and advisory databases. Words without a rating (`untriaged`, `not yet assigned`, `none`)
 * are left out.
 */
const WORDS: Readonly<Record<string, Severity>> = {
  critical: 'critical',
  urgent: 'critical',
  important: 'high',
  high: 'high',
  moderate: 'medium',
  medium: 'medium',
  low: 'low',
  negligible: 'negligible',
  minor: 'low',
  unimportant: 'negligible',
}

/** The severity that a word means, or undefined. Debian's tracker marks some with stars: `low**`. */
export function severityOf(word: unknown): Severity | undefined {
  return typeof word === 'string' ? WORDS[word.trim().toLowerCase().replace(/\*+$/, '')] : undefined
}
