import { distribution } from './distribution.ts'
import type { Kind } from './matching-rules.ts'

/** Alpine: its table names sources and the version of each fix; nothing beyond what every distribution has. */
export const apk: Kind = distribution
