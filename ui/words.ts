import { phrase } from './show.ts'
import type { LoginWay, MarkKind, State } from './wire.ts'

/** The words, icons and colours of the gate, said once for all screens. */
export const STATES: Readonly<Record<State, { readonly word: string; readonly icon: string; readonly tone: string }>> =
  {
    published: { word: 'Published', icon: 'published', tone: 'published' },
    pending_review: { word: 'In review', icon: 'review', tone: 'review' },
    quarantined: { word: 'Quarantined', icon: 'quarantined', tone: 'quarantined' },
    rejected: { word: 'Rejected', icon: 'rejected', tone: 'rejected' },
  }
export const STATE_NAMES = Object.keys(STATES) as readonly State[]

/** How a version is marked that people should leave: what it is called, what sets it, what clients make of it. */
export const MARKS: Readonly<
  Record<
    MarkKind,
    {
      readonly word: string
      readonly set: string
      readonly takeBack: string
      readonly with: string
      readonly without: string
      readonly isSet: (version: string) => string
      readonly isBack: (version: string) => string
    }
  >
> = {
  yanked: {
    word: phrase('yanked'),
    set: 'Yank',
    takeBack: 'Take the yank back',
    with: 'pip passes it over from then on, and takes an older version. Only who asks for exactly this one gets it, with the reason as a warning.',
    without: 'pip takes it again as any other version.',
    isSet: version => `${version} is yanked`,
    isBack: version => `${version} is yanked no longer`,
  },
  deprecated: {
    word: phrase('deprecated'),
    set: 'Deprecate',
    takeBack: 'Take the deprecation back',
    with: 'npm installs it as before, and prints the reason as a warning.',
    without: 'npm installs it again without a warning.',
    isSet: version => `${version} is deprecated`,
    isBack: version => `${version} is deprecated no longer`,
  },
}

/** The gate: the steps of the server, and the publication that follows. */
export const STEPS = [
  { id: 'format', word: 'Format', asks: 'Is it what it says?' },
  { id: 'provenance', word: 'SHA-256', asks: 'Are these the bytes that were meant?' },
  { id: 'antivirus', word: 'Antivirus', asks: 'Is there malware in it?' },
  { id: 'vulnerabilities', word: 'CVE scan', asks: 'What is known against it?' },
  { id: 'scripts', word: 'Scripts', asks: 'What does installing it do?' },
  { id: 'signature', word: 'Signature', asks: 'Can it be signed?' },
  { id: 'dependencies', word: 'Dependencies', asks: 'Can a client install it?' },
  { id: 'publish', word: 'Publish', asks: 'In the signed index?' },
] as const
export type StepId = (typeof STEPS)[number]['id']

export type Mark = 'waiting' | 'running' | 'passed' | 'warned' | 'failed' | 'held' | 'unavailable' | 'skipped'
/** One step as it is drawn. */
export interface StepMark {
  readonly id: StepId
  readonly word: string
  readonly mark: Mark
  readonly said: string
  /** Absent where nobody measured it. */
  readonly tookMs?: number
}

interface Answer {
  readonly name: string
  readonly passed: boolean
  readonly warning: boolean
  readonly holds: boolean
  readonly verdict: string
  readonly message: string
  readonly detail: string
  readonly took_ms?: number
}

function markOf(step: Answer, state: State): Mark {
  // what could not be opened is no fault of an engine
  if (step.verdict === 'partial') return state === 'pending_review' ? 'held' : 'warned'
  // never read as clean, whatever the rest of the answer says
  if (step.verdict === 'unavailable' || step.detail === 'unavailable' || step.verdict === 'no_data')
    return 'unavailable'
  if (step.detail === 'skipped') return 'skipped'
  if (step.holds && state === 'pending_review') return 'held'
  if (!step.passed) return state === 'pending_review' ? 'held' : 'failed'
  return step.warning ? 'warned' : 'passed'
}

/** The server's sentence says what the state means for clients. */
interface Gone {
  readonly steps: readonly Answer[]
  readonly publication: string
}

const PUBLICATION: Readonly<Record<State, Mark>> = {
  published: 'passed',
  pending_review: 'held',
  quarantined: 'waiting',
  rejected: 'waiting',
}

/** Before the server said anything. */
export const NO_MARKS: readonly StepMark[] = STEPS.map(({ id, word }) => ({ id, word, mark: 'waiting', said: '' }))

/**
 * What the server said, as marks. Steps that were not reached wait; publication follows from the state. A package
 * without scripts has no mark for them.
 */
export function gateMarks({ steps, publication }: Gone, state: State): StepMark[] {
  const hasNone = steps.some(({ name }) => name === 'signature') && !steps.some(({ name }) => name === 'scripts')
  return NO_MARKS.filter(({ id }) => !hasNone || id !== 'scripts').map(waiting => {
    const step = steps.find(one => one.name === waiting.id)
    if (step !== undefined)
      return {
        ...waiting,
        mark: markOf(step, state),
        said: step.message,
        ...(step.took_ms === undefined ? {} : { tookMs: step.took_ms }),
      }
    return waiting.id === 'publish' ? { ...waiting, mark: PUBLICATION[state], said: publication } : waiting
  })
}

/** How long the measured steps took together; undefined where none was. */
export function gateTook({ steps }: Pick<Gone, 'steps'>): number | undefined {
  const all = steps.flatMap(({ took_ms }) => (took_ms === undefined ? [] : [took_ms]))
  return all.length === 0 ? undefined : all.reduce((sum, ms) => sum + ms, 0)
}

const MARK_WORDS: Readonly<Record<Mark, string>> = {
  waiting: phrase('waits'),
  running: 'is running',
  passed: phrase('passed'),
  warned: phrase('warned'),
  failed: phrase('failed'),
  held: 'holds it',
  unavailable: 'is unavailable',
  skipped: 'is switched off',
}

/** The gate in words, for readers who do not see the marks. */
export function gateInWords(marks: readonly StepMark[]): string {
  const told = marks.filter(({ mark }) => !['passed', 'waiting'].includes(mark))
  if (told.length > 0) return `Gate: ${told.map(({ word, mark }) => `${word} ${MARK_WORDS[mark]}`).join(', ')}`
  return marks.every(({ mark }) => mark === 'passed') ? 'Gate: all steps passed' : 'Gate: not yet started'
}

/** The password rules, so that they can tick while someone types. Source: the specification, "User". */
export const PASSWORD_RULES = [
  { word: '8 characters or more', holds: (text: string) => text.length >= 8 },
  { word: 'an uppercase letter', holds: (text: string) => /\p{Lu}/u.test(text) },
  { word: 'a digit or special character', holds: (text: string) => /[^\p{L}\s]/u.test(text) },
] as const

export function isStrong(password: string): boolean {
  return PASSWORD_RULES.every(({ holds }) => holds(password))
}

/** The colours of an appliance, in the order in which they are offered. */
export const APPLIANCE_COLOURS = {
  ochre: 'Ochre',
  brick: 'Brick',
  plum: 'Plum',
  cobalt: 'Cobalt',
  pine: 'Pine',
  slate: 'Slate',
} as const

/** What an audit action is called in a sentence about a package. */
export const ACTIONS: Readonly<
  Record<string, { readonly word: string; readonly icon: string; readonly tone: string }>
> = {
  UPLOAD: { word: 'uploaded', icon: 'upload', tone: 'dim' },
  DELETE: { word: 'deleted', icon: 'trash', tone: 'dim' },
  IMPORT: { word: 'imported', icon: 'import', tone: 'dim' },
  SYNC: { word: 'Security sync', icon: 'refresh', tone: 'dim' },
  SECURITY_DECISION: { word: 'decided', icon: 'check', tone: 'dim' },
  QUARANTINE: { word: 'quarantined', icon: 'quarantined', tone: 'quar-c' },
  RESCAN: { word: 'scanned again', icon: 'scan', tone: 'dim' },
  INIT_DISTS: { word: 'Repositories set up', icon: 'layers', tone: 'dim' },
  DISTRIBUTION_CHANGE: { word: 'Distribution changed', icon: 'layers', tone: 'dim' },
  SYNC_INDEX: { word: 'Index rebuilt', icon: 'db', tone: 'dim' },
}

/** How somebody signed in, after "with". */
export const LOGIN_WAYS: Readonly<Record<LoginWay, string>> = {
  password: 'a password',
  directory_password: 'a directory password',
  password_and_code: 'a password and a code',
  password_and_recovery_code: 'a password and a recovery code',
  password_and_new_factor: 'a password, and a second factor set up',
  single_sign_on: 'single sign-on',
}

/** The severities of findings, the worst first. */
export const SEVERITY_NAMES = ['critical', 'high', 'medium', 'low', 'negligible', 'unknown'] as const
/** In the middle of a sentence. */
const SEVERITIES: Readonly<Record<string, string>> = {
  critical: phrase('critical'),
  high: phrase('high'),
  medium: phrase('medium'),
  low: phrase('low'),
  negligible: phrase('negligible'),
  unknown: phrase('unknown'),
}
export const severityWord = (severity: string): string => SEVERITIES[severity] ?? severity
