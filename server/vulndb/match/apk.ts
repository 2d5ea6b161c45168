import { distribution } from './distribution.ts'
import type { Kind } from './kind.ts'

/** Alpine: its table names sources and the version of each fix; nothing beyond what every distribution has. */
export const apk: Kind = distribution
