import type { Entry } from './connections.ts'
import { placeOf } from './pages.ts'

/** Sites that the console links to: what is known of a vulnerability. */
const SITES = new Set(['nvd.nist.gov', 'osv.dev'])

/**
 * The address that a link may open in the system's browser, or undefined. Only https, only sites of the list and the
 * appliances themselves: their trees and reports lie below the page's own address.
 */
export function outsideUrl(link: string, known: readonly Entry[]): string | undefined {
  if (!URL.canParse(link)) return undefined
  const url = new URL(link)
  const place = placeOf(link)
  if (place?.at === 'appliance') {
    const entry = known.find(({ id }) => id === place.id)
    return entry !== undefined && /^\/repos(\/|$)/.test(url.pathname)
      ? `${entry.origin}${url.pathname}${url.search}`
      : undefined
  }
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '' || url.port !== '') return undefined
  return SITES.has(url.hostname) ? url.href : undefined
}
