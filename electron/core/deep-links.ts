import { parseAddress } from './address.ts'
import type { Entry } from './connections.ts'
import { applianceUrl, homeUrl } from './pages.ts'

/**
 * Where a `gatehouse://` link leads. Links come from mails and web pages: they only open a place, on an appliance that
 * is trusted already, or fill in the address of a new one. None of them does anything.
 */
export type Destination =
  | { readonly kind: 'place'; readonly id: string; readonly url: string }
  | { readonly kind: 'new'; readonly url: string }
  | { readonly kind: 'refused'; readonly why: string }

const SCREEN = /^[a-z][a-z-]{0,40}$/
/** What may stand in the query of a place: where it is, never what is to be done there. */
const SHOWN = new Set(['pick', 'version', 'in', 'arch', 'q', 'tab', 'cve', 'for'])
const LONGEST = 2000
const VALUE = /^[\p{L}\p{N} .:+~_@/-]{1,200}$/u

const refused = (why: string): Destination => ({ kind: 'refused', why })

/** `gatehouse://host/review?pick=curl` as the console's own `#/review?pick=curl`. */
function hashOf(url: URL): string | undefined {
  const screen = url.pathname.replace(/^\//, '').replace(/\/$/, '')
  if (screen === '') return ''
  if (!SCREEN.test(screen)) return undefined
  const query = new URLSearchParams()
  for (const [name, value] of url.searchParams) if (SHOWN.has(name) && VALUE.test(value)) query.set(name, value)
  return `#/${screen}${query.size > 0 ? `?${query}` : ''}`
}

/** Reads a link. Nothing is sent, and nothing is kept. */
export function readDeepLink(text: string, known: readonly Entry[]): Destination {
  if (text.length > LONGEST) return refused('The link is too long.')
  // control characters and spaces have no place in a link; a browser would have encoded them
  if (!/^gatehouse:\/\/[\x21-\x7e]+$/i.test(text)) return refused('That is no link of Gatehouse.')
  const rest = text.slice('gatehouse://'.length)
  if (!URL.canParse(`https://${rest}`)) return refused('The link names no appliance.')
  const url = new URL(`https://${rest}`)
  try {
    const address = parseAddress(text)
    const entry = known.find(one => one.origin === address.origin)
    if (entry === undefined) {
      const given = address.fingerprint === undefined ? '' : `?fp=${address.fingerprint}`
      return { kind: 'new', url: homeUrl(`#/add?address=${encodeURIComponent(`gatehouse://${url.host}${given}`)}`) }
    }
    const hash = hashOf(url)
    if (hash === undefined) return refused('The link names no screen of the console.')
    return { kind: 'place', id: entry.id, url: applianceUrl(entry.id, hash) }
  } catch (error) {
    return refused((error as Error).message)
  }
}

/** The link among the words that a program was started with. */
export function linkIn(argv: readonly string[]): string | undefined {
  return argv.find(word => /^gatehouse:\/\//i.test(word))
}

/** The packages among the words that a program was started with; none beside a link, which comes from elsewhere. */
export function filesIn(argv: readonly string[]): string[] {
  if (linkIn(argv) !== undefined) return []
  return argv.slice(1).filter(word => !word.startsWith('-') && /\.(deb|udeb|dsc|rpm|apk)$/i.test(word))
}
