import type { Query } from '../../routes.svelte.ts'

const PER_PAGE = 50
export const INVENTORY_ORDERS = [
  'hostname',
  '-hostname',
  'last_seen',
  '-last_seen',
  'behind',
  '-behind',
  'findings',
  '-findings',
] as const
export const INVENTORY_SEVERITIES = ['critical', 'high', 'medium', 'low'] as const
export const INVENTORY_STATUSES = ['error', 'key_changed', 'never'] as const
export const INVENTORY_COMPLIANCE = ['fail', 'unknown', 'pass'] as const

/** The keys of the address that narrow the list. */
export const FILTERS = ['q', 'system', 'reboot', 'late', 'status', 'severity', 'compliance'] as const
export const isFiltered = (query: Query): boolean => FILTERS.some(name => Boolean(query[name]))

/** What the list asks for. An address may be typed by hand: what it does not know is ignored. */
export function inventoryQuery(query: Query) {
  const { q, system, late, page } = query
  const sort = INVENTORY_ORDERS.find(name => name === query.sort)
  const severity = INVENTORY_SEVERITIES.find(name => name === query.severity)
  const status = INVENTORY_STATUSES.find(name => name === query.status)
  const compliance = INVENTORY_COMPLIANCE.find(name => name === query.compliance)
  return {
    ...(q ? { q } : {}),
    ...(system ? { system } : {}),
    ...(query.reboot === 'needed' ? { reboot: 'needed' as const } : {}),
    ...(late && /^\d{1,4}$/.test(late) ? { not_seen_days: Math.min(3_650, Number(late)) } : {}),
    ...(status ? { status } : {}),
    ...(severity ? { severity } : {}),
    ...(compliance ? { compliance } : {}),
    ...(sort ? { sort } : {}),
    page: Math.max(1, Math.floor(Number(page)) || 1),
    per_page: PER_PAGE,
  }
}
