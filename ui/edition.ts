import type { Reply } from './wire.ts'

/** Why an enterprise feature cannot be changed now; undefined when it can, and while the edition is not known. */
export function lockedBy(card: Reply<'GET /license'> | undefined): string | undefined {
  if (card === undefined || (card.active && card.standing !== 'grace')) return undefined
  return card.edition === 'community'
    ? 'Everything else goes on working. What was set before can be read here.'
    : `${card.warning ?? 'The licence does not cover it now.'} What is set can be read here.`
}
