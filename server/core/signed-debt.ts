import type { Codename } from './identity.ts'
import type { Manifest } from './manifest.ts'

/** The kind of debts that a look at signatures is (`db/outbox.ts`). */
export const SIGNED = 'signed'

/** A look at the signatures of one version and of its parts. */
export const owedForVersion = (of: { readonly codename: Codename; readonly name: string }, version: string): string =>
  `${SIGNED}:${of.codename} ${of.name} ${version}`

/** A look at those of everything that waits in a registry. */
export const owedForRegistry = (codename: Codename): string => `${SIGNED}:${codename}`

/** Whether nothing but a missing signature put it into quarantine, and nobody decided on it. */
export const lacksSignature = ({ state, reports, review, decision }: Manifest): boolean => {
  const failed = reports.filter(({ outcome }) => outcome === 'failed')
  const isDecided = decision !== undefined || review?.held_for !== undefined || (review?.history ?? []).length > 0
  return state === 'quarantined' && !isDecided && failed.length > 0 && failed.every(({ step }) => step === 'signature')
}
