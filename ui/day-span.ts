import { filters } from './filters.ts'
import { SPANS } from './known-filters.ts'

export type Span = (typeof SPANS)[number]

/** The number of days that the address asks for under this name; 30 unless it does. */
export const spanOf = (name = 'days'): Span => SPANS.find(one => String(one) === filters()[name]) ?? 30
