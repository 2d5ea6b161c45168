import type { StoredRow } from '../store/shards.ts'
import { language } from './language.ts'
import type { Kind } from './matching-rules.ts'

const isOfNvd = ({ advisory }: StoredRow): boolean => advisory.source.startsWith('nvd/')

/**
 * Native code: of the states in which files of the NVD have a record, of a year and of what changed lately, the newest
 * counts.
 */
export const native: Kind = {
  ...language,
  deciding(judged) {
    const dates = judged.filter(({ row }) => isOfNvd(row)).map(({ row }) => row.advisory.modified ?? '')
    const newest = dates.sort().at(-1)
    return judged.filter(({ row }) => !isOfNvd(row) || (row.advisory.modified ?? '') === newest)
  },
}
