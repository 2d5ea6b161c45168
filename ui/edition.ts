import type { Reply } from './wire.ts'

/**
 * Why what belongs to the enterprise edition cannot be changed now, or undefined when it can; undefined also while
 * nobody knows.
 */
export function lockedBy(card: Reply<'GET /license'> | undefined): string | undefined {
  if (card === undefined || (card.active && card.standing !== 'grace')) return undefined
  return card.edition === 'community'
    ? 'Everything else goes on working. What was set before can be read here.'
    : `${card.warning ?? 'The licence does not cover it now.'} What is set can be read here.`
}
