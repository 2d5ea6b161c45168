import { placeAt, type Place } from './screens.ts'

export type Query = Readonly<Record<string, string>>
export interface Address {
  readonly screen: Place
  readonly query: Query
}

/** Reads `#/packages?q=curl`. Unknown addresses lead to the dashboard. */
export function parseAddress(hash: string): Address {
  const [path = '', search = ''] = hash.replace(/^#?\/?/, '').split('?', 2)
  return { screen: placeAt(path), query: Object.fromEntries(new URLSearchParams(search)) }
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
