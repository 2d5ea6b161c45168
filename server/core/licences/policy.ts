import type { Action } from '../action.ts'
import { forbiddenIn } from './forbidden.ts'
import { judgeLicence } from './judge.ts'

/** The settings that decide on licences. */
export interface LicencePolicy {
  /** `AGPL-*, SSPL-1.0` */
  readonly forbidden: string
  readonly action: Action
  /** For packages that declare none, or nothing that is understood. */
  readonly undeclared_action: Action
}

/** What a package says of its licence, for the record: of formats that have a field for it, and others that say it. */
export interface LicenceRecord {
  /** As the package says it, cut; absent: it says none. */
  readonly declared?: string
}

/** What the policy makes of a licence, and why in one sentence; without one where nothing stands against it. */
export interface LicenceJudgement {
  readonly action: Action
  readonly said?: string
}

const MOST_DECLARED = 2_000
const MOST_QUOTED = 100

/** The record of what a package says. @param hasField  whether saying none means something in its format */
export function licenceRecord(declared: string | undefined, hasField: boolean): LicenceRecord | undefined {
  const text = (declared ?? '').trim().slice(0, MOST_DECLARED)
  if (text !== '') return { declared: text }
  return hasField ? {} : undefined
}

function quote(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > MOST_QUOTED ? `${line.slice(0, MOST_QUOTED)}…` : line
}

/** Judges what a package says of its licence. Absent: its format has no field for that. */
export function judgeRecord(record: LicenceRecord | undefined, policy: LicencePolicy | undefined): LicenceJudgement {
  if (record === undefined || policy === undefined) return { action: 'allow' }
  const { declared } = record
  const { forbidden, action, undeclared_action: undeclared } = policy
  const list = forbiddenIn(forbidden)
  if (list.length === 0 && undeclared === 'allow') return { action: 'allow' }
  const { standing, because } = judgeLicence(declared, list)
  if (standing === 'free') return { action: 'allow' }
  if (standing === 'forbidden') {
    const said =
      because.length === 1
        ? `Licence: ${because.join('')} is on the list of forbidden licences.`
        : `Licence: ${because.join(', ')} are on the list of forbidden licences.`
    return { action, said }
  }
  return {
    action: undeclared,
    said:
      declared === undefined
        ? 'Licence: the package declares none.'
        : `Licence: "${quote(declared)}" does not say whether it is on the list of forbidden licences.`,
  }
}

/** The action for a licence. */
export const licenceAction = (record: LicenceRecord | undefined, policy: LicencePolicy | undefined): Action =>
  judgeRecord(record, policy).action
