import { knownIn } from './known-filters.ts'
import { knownValues } from './known-values.svelte.ts'
import { address, type Query } from './routes.svelte.ts'

/**
 * What the address asks of this screen: every list reads its filters here. What means nothing is left out, and
 * `shell/LeftOut.svelte` says so; reading it in a component follows the address.
 */
export const filters = (): Query => knownIn(address().screen, address().query, knownValues())
