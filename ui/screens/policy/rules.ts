import { phrase } from '../../show.ts'

/** The rules of the gate as this screen edits them: the settings under their dotted names. */
export const ACTIONS = ['block', 'review', 'warn', 'allow'] as const
export type Action = (typeof ACTIONS)[number]
/** What the actions are called, the heads of the table. */
export const ACTION_WORDS: Readonly<Record<Action, string>> = {
  block: phrase('Block'),
  review: phrase('Review'),
  warn: phrase('Warn'),
  allow: phrase('Allow'),
}
export const SEVERITIES = ['critical', 'high', 'medium', 'low', 'negligible'] as const

export interface Rules {
  readonly cve_policy: Readonly<Record<(typeof SEVERITIES)[number], Action>> & {
    readonly kev_action: Action
    readonly epss_action: Action
    readonly epss_threshold: number
    readonly require_fix: boolean
    readonly malicious_action: Action
    readonly unknown_as: (typeof SEVERITIES)[number]
    readonly sla_critical_days: number
    readonly sla_high_days: number
    readonly sla_medium_days: number
  }
  readonly review: { readonly four_eyes: boolean }
  readonly license_policy: {
    readonly forbidden: string
    readonly action: Action
    readonly undeclared_action: Action
  }
  /** By kind of fact; the schema of the settings says what each means. */
  readonly script_policy: Readonly<Record<string, Action>>
  readonly validation: { readonly on_scanner_unavailable: 'hold' | 'warn'; readonly vuln_data_max_age_days: number }
}

type Section = keyof Rules
export type Value = string | number | boolean
type Flat = Readonly<Record<string, Value>>

const SCRIPTS = 'script_policy'
const KEYS: { readonly [S in Exclude<Section, typeof SCRIPTS>]: readonly (keyof Rules[S] & string)[] } = {
  cve_policy: [
    ...SEVERITIES,
    'unknown_as',
    'kev_action',
    'epss_action',
    'epss_threshold',
    'require_fix',
    'malicious_action',
    'sla_critical_days',
    'sla_high_days',
    'sla_medium_days',
  ],
  license_policy: ['forbidden', 'action', 'undeclared_action'],
  review: ['four_eyes'],
  validation: ['on_scanner_unavailable', 'vuln_data_max_age_days'],
}
/** Deadlines move no package by themselves. */
const NOT_IN_PREVIEW = /^cve_policy\.sla_/

/** Whether a setting, by its dotted name, is edited on this screen. */
export function isRule(dotted: string): boolean {
  const [section = '', key = ''] = dotted.split('.', 2)
  if (section === SCRIPTS) return true
  return (KEYS as Readonly<Record<string, readonly string[]>>)[section]?.includes(key) === true
}

/** `cve_policy.critical: 'block'`, one entry for each setting of this screen. */
export function flatten(rules: Rules): Record<string, Value> {
  return Object.fromEntries(
    [...Object.entries(KEYS), [SCRIPTS, Object.keys(rules[SCRIPTS])] as const].flatMap(([section, keys]) =>
      keys.map(key => [`${section}.${key}`, (rules[section as Section] as unknown as Flat)[key] ?? '']),
    ),
  )
}

/** The changed settings, nested as in the settings. */
export function nest(changed: Flat): Record<string, Record<string, Value>> {
  const out: Record<string, Record<string, Value>> = {}
  for (const [dotted, value] of Object.entries(changed)) {
    const [section = '', key = ''] = dotted.split('.', 2)
    out[section] = { ...out[section], [key]: value }
  }
  return out
}

/** The part of a change that can move packages, as the preview takes it. */
export function moving(changed: Flat): Record<string, Value | Record<string, Value>> {
  const { cve_policy: cves = {}, license_policy: licences } = nest(
    Object.fromEntries(Object.entries(changed).filter(([key]) => !NOT_IN_PREVIEW.test(key))),
  )
  return { ...cves, ...(licences === undefined ? {} : { license_policy: licences }) }
}

/** Why a value cannot be saved, or undefined. */
export function wrong(key: string, value: Value): string | undefined {
  if (key === 'cve_policy.epss_threshold')
    return typeof value === 'number' && value >= 0 && value <= 1 ? undefined : 'A number from 0 to 1.'
  if (/_days$/.test(key))
    return typeof value === 'number' &&
      Number.isInteger(value) &&
      value >= (key.startsWith('validation') ? 1 : 0) &&
      value <= 3650
      ? undefined
      : 'Whole days, at most 3,650.'
  return undefined
}
