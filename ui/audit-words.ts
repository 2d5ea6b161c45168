import { printFacts } from '../server/record/audit-sentences.ts'
import { language } from './language.ts'
import { decisionWords } from './screens/review/decide.ts'
import { day, lower, plural } from './show.ts'
import type { AuditFacts, State } from './wire.ts'
import { STATES } from './words.ts'

const stateWord = (state: State): string => lower(STATES[state].word)
const whole = (said: string): string => (said === '' || /[.!?…]$/.test(said) ? said : `${said}.`)
const join = (...sentences: readonly string[]): string => sentences.filter(one => one !== '').join(' ')

type Of<Kind extends AuditFacts['kind']> = Extract<AuditFacts, { readonly kind: Kind }>

/** The target, if there is one. */
const moved = ({ from_state, to_state }: Of<'package.held'>): string =>
  from_state === to_state ? '' : `Now ${stateWord(to_state)}.`

function decided({ decision, cve, until, reason }: Of<'package.decided'>['decisions'][number]): string {
  const word = decisionWords(decision)?.done ?? decision
  return `${word}${cve ? ` for ${cve}` : ''}${until ? ` until ${day(until)}` : ''}: ${whole(reason)}`
}

function rescanned(facts: Of<'package.rescanned'>): string {
  const { found, lost, message } = facts
  return join(
    message ?? '',
    found.length === 0 ? '' : `${plural(found.length, ['# new finding', '# new findings'])}: ${found.join(', ')}.`,
    lost.length === 0 ? '' : `No longer found: ${lost.join(', ')}.`,
    moved({ ...facts, kind: 'package.held', reason: '' }),
  )
}

interface Line {
  readonly facts?: AuditFacts
  readonly detail: string
}

/**
 * An audit line whole. In English that is the sentence as it was written; in another language it is made from the
 * facts, and a line of another release, whose facts are not known here, keeps what was written.
 */
export function inFull({ facts, detail }: Line, isWritten = language === 'en'): string {
  if (isWritten || facts === undefined) return detail
  try {
    return printFacts(facts)
  } catch {
    return detail
  }
}

/**
 * An audit line as a plain sentence, without digests and technical names, where it has a shorter one than
 * `inFull`.
 */
export function inShort(line: Line): string {
  const { facts } = line
  switch (facts?.kind) {
    case 'package.admitted':
      return `${STATES[facts.state].word}.`
    case 'distributions.set_up': {
      // the row names the distribution already
      const names = facts.distributions.length === 1 ? '' : `${facts.distributions.join(', ')}.`
      const because = facts.by_package === true ? 'The first package that was published there set it up.' : ''
      return join(names, because, facts.made_key === undefined ? '' : 'Made the signing key.')
    }
    case 'package.copied':
      return `Copied from ${facts.from_distribution}.`
    case 'package.deleted':
      return join(`Was ${stateWord(facts.from_state)}.`, whole(facts.reason))
    case 'package.decided':
      return facts.decisions.map(decided).join(' ')
    case 'package.quarantined':
      return whole(facts.reason || 'No reason given')
    case 'package.rescanned':
      return rescanned(facts)
    case 'package.held':
      return join(whole(facts.reason), moved(facts))
    case 'package.lapsed':
      return facts.ended
        .map(({ cve, by, ended_at }) => `The acceptance${cve ? ` of ${cve}` : ''} by ${by} ended on ${day(ended_at)}.`)
        .join(' ')
    default:
      return inFull(line)
  }
}
