/**
 * The screens that have an address. `login` is where a single sign-on comes back to, `reset-password` where a mailed
 * link leads; `setup` is also what a fresh instance shows under any address.
 */
export const SCREENS = [
  'dashboard',
  'review',
  'upload',
  'packages',
  'distributions',
  'vulnerabilities',
  'policy',
  'engines',
  'audit',
  'users',
  'settings',
  'health',
  'profile',
  'setup',
  'login',
  'reset-password',
] as const
export type ScreenName = (typeof SCREENS)[number]
export type Query = Readonly<Record<string, string>>
export interface Address {
  readonly screen: ScreenName
  readonly query: Query
}

/** Reads `#/packages?q=curl`. Whatever is no screen of ours is the dashboard. */
export function parseAddress(hash: string): Address {
  const [path = '', search = ''] = hash.replace(/^#?\/?/, '').split('?', 2)
  const screen = SCREENS.find(name => name === path) ?? 'dashboard'
  return { screen, query: Object.fromEntries(new URLSearchParams(search)) }
}

/** Writes an address; empty values are left out, so that the same view has one address. */
export function href(screen: ScreenName, query: Readonly<Record<string, string | undefined>> = {}): string {
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
export function go(screen: ScreenName, query: Readonly<Record<string, string | undefined>> = {}): void {
  location.hash = href(screen, query)
}

/** Goes there at once, without a step for Back. */
export function replaceAddress(screen: ScreenName, query: Query = {}): void {
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
