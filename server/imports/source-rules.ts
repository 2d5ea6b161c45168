import type { Source } from './source.ts'

/** Whether a source takes part where nobody names it. */
export const isActive = ({ enabled, retired }: Pick<Source, 'enabled' | 'retired'>): boolean => enabled && !retired

/** Whether somebody may see a source: one that is only for hidden distributions is hidden with them. */
export const isSeen = ({ codenames }: Pick<Source, 'codenames'>, hidden: readonly string[]): boolean =>
  codenames.length === 0 || codenames.some(codename => !hidden.includes(codename))
