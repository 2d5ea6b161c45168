import type { Codename } from './identity.ts'

/** The kind of debts that a look at signatures is (`db/outbox.ts`). */
export const SIGNED = 'signed'

/** A look at the signatures of one version and of its parts. */
export const owedForVersion = (of: { readonly codename: Codename; readonly name: string }, version: string): string =>
  `${SIGNED}:${of.codename} ${of.name} ${version}`

/** A look at those of everything that waits in a registry. */
export const owedForRegistry = (codename: Codename): string => `${SIGNED}:${codename}`
