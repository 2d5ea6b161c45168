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

/** Why what a package inherits is not known: its parent is not here, its own heir, too far above, or not readable. */
export type WhyUnread = 'elsewhere' | 'circle' | 'deep' | 'broken'

/** What a package says of its licence, for the record: of formats that have a field for it, and others that say it. */
export interface LicenceRecord {
  /** As the package says it, cut; absent: it says none. */
  readonly declared?: string
  /** Whose word that is where it says none itself: `org.example:parent 1.0`. */
  readonly from?: string
  /** It says none, and may inherit what this one says, which was not read. */
  readonly unread?: { readonly from: string; readonly why: WhyUnread }
}

/** What a package that says none inherits, or why that is not known. */
export type InheritedLicence =
  { readonly declared: string; readonly from: string } | { readonly unread: string; readonly why: WhyUnread }

/** What the policy makes of a licence, and why in one sentence; without one where nothing stands against it. */
export interface LicenceJudgement {
  readonly action: Action
  readonly said?: string
}

const MOST_DECLARED = 2_000
const MOST_QUOTED = 100

const cut = (text: string | undefined): string => (text ?? '').trim().slice(0, MOST_DECLARED)

/**
 * The record of what a package says.
 * @param hasField  whether saying none means something in its format
 * @param inherited  looked at where it says none
 */
export function licenceRecord(
  declared: string | undefined,
  hasField: boolean,
  inherited?: InheritedLicence,
): LicenceRecord | undefined {
  const text = cut(declared)
  if (text !== '') return { declared: text }
  if (inherited !== undefined && 'unread' in inherited)
    return { unread: { from: inherited.unread, why: inherited.why } }
  if (inherited !== undefined) return { declared: cut(inherited.declared), from: inherited.from }
  return hasField ? {} : undefined
}

function quote(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > MOST_QUOTED ? `${line.slice(0, MOST_QUOTED)}…` : line
}

function sayForbidden({ from }: LicenceRecord, because: readonly string[]): string {
  const [all, isOne] = [because.join(', '), because.length === 1]
  if (from === undefined)
    return isOne
      ? `Licence: ${all} is on the list of forbidden licences.`
      : `Licence: ${all} are on the list of forbidden licences.`
  return isOne
    ? `Licence: ${all}, which its parent ${from} declares, is on the list of forbidden licences.`
    : `Licence: ${all}, which its parent ${from} declares, are on the list of forbidden licences.`
}

function sayUnread({ from, why }: NonNullable<LicenceRecord['unread']>): string {
  switch (why) {
    case 'elsewhere':
      return `Licence: the package declares none, and what it inherits is not known: ${from} is not in this registry.`
    case 'circle':
      return `Licence: the package declares none, and what it inherits is not known: ${from} inherits from itself.`
    case 'deep':
      return `Licence: the package declares none, and what it inherits is not known: ${from} stands above more parents than are read.`
    case 'broken':
      return `Licence: the package declares none, and what it inherits is not known: ${from} cannot be read.`
  }
}

function sayUnclear({ declared, from, unread }: LicenceRecord): string {
  if (unread !== undefined) return sayUnread(unread)
  if (declared === undefined) return 'Licence: the package declares none.'
  const said = quote(declared)
  return from === undefined
    ? `Licence: "${said}" does not say whether it is on the list of forbidden licences.`
    : `Licence: "${said}", which its parent ${from} declares, does not say whether it is on the list of forbidden licences.`
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
  return standing === 'forbidden'
    ? { action, said: sayForbidden(record, because) }
    : { action: undeclared, said: sayUnclear(record) }
}

/** The action for a licence. */
export const licenceAction = (record: LicenceRecord | undefined, policy: LicencePolicy | undefined): Action =>
  judgeRecord(record, policy).action
