import type { KnownValues } from './known-values.svelte.ts'
import type { Query } from './routes.svelte.ts'
import type { Place } from './screens.ts'
import { GROUPS, RESULTS } from './screens/audit/lines.ts'
import {
  INVENTORY_COMPLIANCE,
  INVENTORY_ORDERS,
  INVENTORY_SEVERITIES,
  INVENTORY_STATUSES,
} from './screens/inventory/query.ts'
import { LEVELS } from './screens/logs/levels.ts'
import { cameOf } from './screens/packages/came.ts'
import { SEVERITY_NAMES, STATE_NAMES } from './words.ts'

/** How many days a chart can show. */
export const SPANS = [7, 30, 90] as const
export const PACKAGE_ORDERS = ['name', '-name', 'updated_at', '-updated_at', 'size', '-size'] as const
/** What the filter of states offers beside single states. */
export const WIDER_STATES = ['any', 'not_published'] as const
export const REVIEW_ORDERS: readonly string[] = ['sla', 'severity', 'kev', 'epss', 'name', 'age']
export const CVE_ORDERS: readonly string[] = ['severity', 'kev', 'epss', 'packages', 'first_seen', 'id']
export const HELD_ORDERS: readonly string[] = ['severity', 'kev', 'epss', 'name', 'age']

/** Whether a value of the address means something, beside the other values and what was read of them. */
type Rule = (value: string, query: Query, known: KnownValues) => boolean
type Rules = Readonly<Record<string, Rule>>

const among =
  (...all: readonly (string | number)[]): Rule =>
  value =>
    all.some(one => String(one) === value)
const read =
  (name: keyof KnownValues): Rule =>
  (value, _, known) =>
    known[name]?.includes(value) ?? true
const [dist, format] = [read('dist'), read('format')]
const on = among('1', 'true')
const days = among(...SPANS)
const severities: readonly string[] = SEVERITY_NAMES
const severity: Rule = value => value.split(',').every(one => severities.includes(one))
const moment: Rule = value => !Number.isNaN(Date.parse(value))
const came =
  (key: 'gate' | 'since' | 'origin'): Rule =>
  value =>
    cameOf({ [key]: value })[key] !== undefined
const actions = GROUPS.flatMap(group => group.actions)

/** Filters of each screen that take some values only. What is not named here, such as words and names, takes any. */
const RULES: Partial<Readonly<Record<Place, Rules>>> = {
  dashboard: { days, as: among('chart', 'table') },
  health: { days },
  downloads: { days, view: among('never'), as: among('chart', 'table') },
  packages: {
    state: among(...STATE_NAMES, ...WIDER_STATES),
    ...{ dist, format },
    scanned: among('false'),
    sort: among(...PACKAGE_ORDERS),
    gate: came('gate'),
    since: came('since'),
    origin: came('origin'),
  },
  review: {
    ...{ dist, format, severity, kev: on, overdue: on },
    who: among('me', 'none'),
    sort: among(...REVIEW_ORDERS),
  },
  vulnerabilities: {
    ...{ dist, severity },
    ...{ kev: on, fixable: on, open: on },
    epss: value => Number(value) > 0 && Number(value) <= 1,
    state: among(...STATE_NAMES),
    by: among('cve', 'package'),
    over: days,
    sort: (value, { by }) => (by === 'package' ? HELD_ORDERS : CVE_ORDERS).includes(value),
  },
  audit: {
    action: (value, { tab }) => (tab === 'decisions' ? ['approve', 'reject'] : actions).includes(value),
    result: among(...Object.keys(RESULTS)),
    arrivals: among('taken', 'stopped'),
    ...{ from: moment, to: moment },
    standing: on,
  },
  jobs: { state: among('error') },
  logs: {
    level: among(...Object.keys(LEVELS)),
    service: among('backend', 'apt-repo', 'all'),
    span: among('hour', 'day', 'week'),
  },
  import: {
    for: (value, query, known) => value === '*' || dist(value, query, known),
    source: read('source'),
    format,
    versions: among('all'),
    which: (value, { tab }) => (tab === 'mirror' ? ['on', 'all', 'targets'] : ['bad', 'all']).includes(value),
  },
  registries: { lookalike: on },
  inventory: {
    severity: among(...INVENTORY_SEVERITIES),
    reboot: among('needed'),
    status: among(...INVENTORY_STATUSES),
    compliance: among(...INVENTORY_COMPLIANCE),
    late: value => /^\d{1,4}$/.test(value),
    sort: among(...INVENTORY_ORDERS),
  },
}

interface Asked {
  readonly query: Query
  readonly known: KnownValues
}

function isKnown(screen: Place, key: string, { query, known }: Asked): boolean {
  const value = query[key] ?? ''
  const rules = RULES[screen]
  // an address may name what every object has, such as `constructor`
  const rule = rules !== undefined && Object.hasOwn(rules, key) ? rules[key] : undefined
  return value === '' || rule === undefined || rule(value, query, known)
}

/** The query of a screen without the filters whose values mean nothing there. */
export function knownIn(screen: Place, query: Query, known: KnownValues = {}): Query {
  return Object.fromEntries(Object.entries(query).filter(([key]) => isKnown(screen, key, { query, known })))
}

/** The filters that `knownIn` leaves out, in the order of the address. */
export function unknownIn(
  screen: Place,
  query: Query,
  known: KnownValues = {},
): readonly (readonly [key: string, value: string])[] {
  return Object.entries(query).filter(([key]) => !isKnown(screen, key, { query, known }))
}

/** The keys of a screen's filters that take some values only. */
export const ruledKeys = (screen: Place): readonly string[] => Object.keys(RULES[screen] ?? {})
