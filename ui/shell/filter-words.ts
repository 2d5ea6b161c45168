import type { Query } from '../routes.svelte.ts'
import { RESULTS } from '../screens/audit/lines.ts'
import { RESULTS as GATE } from '../screens/packages/came.ts'
import { day, phrase } from '../show.ts'
import { severityWord, STATE_NAMES, STATES, STEPS } from '../words.ts'

/** Filters that have a value, by their key in the address. */
const NAMED: Readonly<Record<string, string>> = {
  q: phrase('search'),
  dist: phrase('distribution'),
  state: phrase('state'),
  severity: phrase('severity'),
  format: phrase('format'),
  epss: 'EPSS',
  cve: 'CVE',
  who: phrase('assigned to'),
  action: phrase('action'),
  result: phrase('result'),
  user: phrase('user'),
  from: phrase('from'),
  to: phrase('to'),
  since: phrase('since'),
  level: phrase('level'),
  gate: phrase('gate'),
  origin: phrase('origin'),
  arrivals: phrase('arrivals'),
  system: phrase('system'),
  late: phrase('days not seen'),
  status: phrase('last answer'),
  compliance: phrase('rules'),
  service: phrase('service'),
  span: phrase('time'),
  component: phrase('part'),
  request: phrase('request'),
  for: phrase('for'),
  source: phrase('source'),
  which: phrase('which'),
  days: phrase('days'),
}
/** Filters that are on or off. */
const SWITCHES: Readonly<Record<string, string>> = {
  kev: phrase('known exploited'),
  fixable: phrase('fix available'),
  open: phrase('not accepted'),
  overdue: phrase('overdue'),
  standing: phrase('still in force'),
  reboot: phrase('reboot needed'),
  scanned: phrase('not scanned in full'),
}
const DAYS = new Set(['from', 'to', 'since'])
const VALUES: Readonly<Record<string, string>> = {
  'who me': phrase('me'),
  'who none': phrase('nobody'),
  'state not_published': phrase('not published'),
  'state any': phrase('any'),
  'origin uploaded': phrase('uploaded'),
  'origin imported': phrase('imported'),
  'arrivals taken': phrase('served or waiting as they came'),
  'arrivals stopped': phrase('stopped as they came'),
  'status error': phrase('none'),
  'status key_changed': phrase('key changed'),
  'status never': phrase('never'),
  'compliance fail': phrase('broken'),
  'compliance unknown': phrase('unknown'),
  'compliance pass': phrase('kept'),
  'service apt-repo': phrase('the trees'),
  'service all': phrase('everything'),
  'span hour': phrase('last hour'),
  'span day': phrase('last day'),
  'span week': phrase('last week'),
  'for *': phrase('every distribution'),
  'which all': phrase('all'),
  'which bad': phrase('to look after'),
  'which on': phrase('switched on'),
  'which targets': phrase('distributions'),
}

function worded(key: string, value: string): string {
  const state = STATE_NAMES.find(name => name === value)
  if (key === 'state' && state !== undefined) return STATES[state].word
  if (key === 'gate') {
    const [id, result = ''] = value.split(':')
    return `${STEPS.find(step => step.id === id)?.word ?? id} ${GATE[result] ?? result}`
  }
  if (key === 'severity') return value.split(',').map(severityWord).join(', ')
  if (key === 'result') return RESULTS[value]?.word ?? value
  if (DAYS.has(key) && !Number.isNaN(Date.parse(value))) return day(value)
  return VALUES[`${key} ${value}`] ?? value
}

/** What a list is narrowed to, for paper: `state: Published, known exploited`. Which part is open, its heading says. */
export function filterInWords(query: Query): string {
  return Object.entries(query)
    .flatMap(([key, value]) => {
      if (value === undefined || value === '') return []
      const name = NAMED[key]
      return SWITCHES[key] ?? (name === undefined ? [] : `${name}: ${worded(key, value)}`)
    })
    .join(', ')
}
