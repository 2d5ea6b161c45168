import { isPlace, placeAt, type Place } from './screens.ts'

export type Query = Readonly<Record<string, string>>
export interface Address {
  readonly screen: Place
  readonly query: Query
  /** The path that names no place, where it is one. */
  readonly unknown?: string
  /** As it stands in the window's address. */
  readonly hash: string
}

/** Reads `#/packages?q=curl`. Unknown addresses lead to the dashboard. */
export function parseAddress(hash: string): Address {
  const [path = '', search = ''] = hash.replace(/^#?\/?/, '').split('?', 2)
  const unknown = path === '' || isPlace(path) ? {} : { unknown: path }
  return { screen: placeAt(path), query: Object.fromEntries(new URLSearchParams(search)), ...unknown, hash }
}

/** Writes an address; empty values are left out, so that the same view has one address. */
export function href(screen: Place, query: Readonly<Record<string, string | undefined>> = {}): string {
  const search = new URLSearchParams(
    Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== ''),
  )
  return `#/${screen}${search.size > 0 ? `?${search}` : ''}`
}

let current = $state.raw<Address>(parseAddress(globalThis.location?.hash ?? ''))
globalThis.addEventListener?.('hashchange', () => {
  current = parseAddress(location.hash)
})

/** Where the console is; reading `address()` in a component follows it. */
export function address(): Address {
  return current
}

/**
 * The query without some keys: the same value as long as only those change, so that long lists can make links of it.
 * Call it while a component is set up.
 */
export function queryWithout(...keys: readonly string[]): () => Query {
  const text = $derived(JSON.stringify(Object.entries(current.query).filter(([key]) => !keys.includes(key))))
  const rest = $derived(Object.fromEntries(JSON.parse(text) as [string, string][]))
  return () => rest
}

/** Goes there, as a link would: Back returns. */
export function go(screen: Place, query: Readonly<Record<string, string | undefined>> = {}): void {
  location.hash = href(screen, query)
}

/** Goes there at once, without a step for Back. */
export function replaceAddress(screen: Place, query: Query = {}): void {
  history.replaceState(null, '', href(screen, query))
  current = parseAddress(location.hash)
}

/** Changes a part of the query. `replace` leaves no step for Back: for typing in a search field. */
export function patchQuery(
  change: Readonly<Record<string, string | undefined>>,
  how: 'push' | 'replace' = 'push',
): void {
  const next = href(current.screen, { ...current.query, ...change })
  if (next === location.hash) return
  if (how === 'push') location.hash = next
  else {
    history.replaceState(null, '', next)
    current = parseAddress(next)
  }
}

/** The page of a list as the address has it: the first one is not named. */
export const pageWord = (page: number): string | undefined => (page === 1 ? undefined : String(page))

/** Turns the list of this screen to a page. */
export const turnTo = (page: number): void => patchQuery({ page: pageWord(page) })
