import type { Query } from './routes.svelte.ts'
import type { Reply } from './wire.ts'

export type SavedFilter = Reply<'GET /saved-filters'>['filters'][number]
export type FilteredScreen = SavedFilter['screen']

/** What a filter of each list is, of the keys of its address; the page and what is open are not. */
const KEYS: Readonly<Record<FilteredScreen, readonly string[]>> = {
  packages: ['q', 'dist', 'state', 'format', 'scanned', 'gate', 'since', 'origin', 'sort'],
  review: ['q', 'dist', 'severity', 'format', 'kev', 'who', 'overdue', 'sort'],
  vulnerabilities: ['q', 'dist', 'severity', 'kev', 'fixable', 'epss', 'state', 'open', 'by', 'sort'],
  audit: ['tab', 'q', 'user', 'action', 'result', 'arrivals', 'from', 'to', 'standing'],
  jobs: ['state'],
  downloads: ['days', 'view', 'as'],
  inventory: ['q', 'system', 'reboot', 'late', 'status', 'severity', 'compliance', 'sort'],
  logs: ['q', 'level', 'service', 'span', 'component', 'request'],
  import: ['tab', 'q', 'for', 'source', 'format', 'versions', 'which'],
}

export const filteredScreens = Object.keys(KEYS) as readonly FilteredScreen[]
export const keysOf = (screen: FilteredScreen): readonly string[] => KEYS[screen]

/** The part of an address that a filter keeps, in one order. */
export function filterIn(screen: FilteredScreen, query: Query): Query {
  return Object.fromEntries(KEYS[screen].flatMap(key => (query[key] ? [[key, query[key]]] : [])))
}

/** Whether both narrow the list to the same. */
export function isSameFilter(screen: FilteredScreen, a: Query, b: Query): boolean {
  return JSON.stringify(filterIn(screen, a)) === JSON.stringify(filterIn(screen, b))
}
