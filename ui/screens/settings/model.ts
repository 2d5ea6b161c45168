import type { ApiProblem } from '../../api.ts'
import { ACTION_WORDS } from '../policy/rules.ts'
import { count } from '../../show.ts'
import { LABELS } from './labels.ts'
import { APPLIANCE_COLOURS } from '../../words.ts'

// What the settings' own JSON Schema says, as the screen draws it. A new setting of the server appears here by itself.

/** One setting. */
export interface Leaf {
  /** Dotted, as errors and the documentation name it. */
  readonly path: string
  readonly label: string
  readonly description: string
  readonly kind: 'switch' | 'choice' | 'number' | 'text' | 'long' | 'secret'
  readonly options: readonly string[]
  readonly unit: string
  readonly range: readonly [number, number] | undefined
  readonly whole: boolean
  /** Its default. */
  readonly standard: unknown
}
/** Settings that belong together; `heading` is empty for those directly in the section. */
export interface Block {
  readonly heading: string
  readonly leaves: readonly Leaf[]
}
export interface Section {
  readonly id: string
  readonly title: string
  readonly description: string
  readonly isEnterprise: boolean
  readonly blocks: readonly Block[]
}
export interface Group {
  readonly name: string
  readonly sections: readonly Section[]
}

interface Node {
  readonly type?: string
  readonly description?: string
  readonly edition?: string
  /** Why the server does nothing with it: then there is no control. */
  readonly inert?: string
  readonly unit?: string
  readonly secret?: boolean
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Node>>
}

/** The one section that holds what stands at the top of the settings. */
const GENERAL = 'general'
const GROUPS: readonly (readonly [string, readonly string[]])[] = [
  ['This server', [GENERAL, 'appliance', 'license', 'mfa_policy']],
  ['People', ['ldap', 'oidc']],
  ['Messages', ['email', 'notifications']],
  [
    'Gate',
    [
      'validation',
      'upload_limits',
      'cve_policy',
      'license_policy',
      'script_policy',
      'review',
      'engines',
      'security',
      'clamav',
    ],
  ],
  ['Repositories', ['signing', 'import', 'sync', 'security_updates', 'downloads', 'disk', 'retention']],
]
const TITLES: Readonly<Record<string, string>> = {
  [GENERAL]: 'General',
  appliance: 'Name and environment',
  license: 'Licence',
  mfa_policy: 'Sign-in policy',
  ldap: 'Directory (LDAP)',
  oidc: 'Single sign-on',
  email: 'Mail',
  notifications: 'Webhook',
  validation: 'Steps of the gate',
  upload_limits: 'Uploads a minute',
  cve_policy: 'Vulnerability policy',
  license_policy: 'Licence policy',
  script_policy: 'Script policy',
  review: 'Review',
  engines: 'Engines',
  security: 'Vulnerability data',
  clamav: 'Antivirus data',
  signing: 'Signing',
  import: 'Other repositories',
  sync: 'Daily synchronisation',
  security_updates: 'Security updates',
  downloads: 'Downloads',
  disk: 'Disk',
  retention: 'Audit log and imported versions',
  mirror: 'Mirror',
  backup: 'Backup',
  bundles: 'Bundles',
  inventory: 'Inventory',
  clock: 'Clock',
  developer_uploads: 'Developer uploads',
}
/** Endings that only repeat the unit. */
const UNITS = /_(mb|gb|days|minutes)$/

/** A setting that this console does not know has the words of its key. */
function labelOf(path: string, hasUnit: boolean): string {
  const key = path.slice(path.lastIndexOf('.') + 1)
  const said = LABELS[path] ?? LABELS[key]
  if (said !== undefined) return said
  const text = (hasUnit ? key.replace(UNITS, '') : key).replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function kindOf(node: Node): Leaf['kind'] {
  if (node.secret === true) return 'secret'
  if (node.enum !== undefined) return 'choice'
  if (node.type === 'boolean') return 'switch'
  if (node.type === 'integer' || node.type === 'number') return 'number'
  return (node.maxLength ?? 0) > 4_000 ? 'long' : 'text'
}

function leafOf(path: string, node: Node): Leaf {
  return {
    path,
    label: labelOf(path, node.unit !== undefined),
    description: node.description ?? '',
    kind: kindOf(node),
    options: node.enum ?? [],
    unit: node.unit ?? '',
    range: node.minimum === undefined || node.maximum === undefined ? undefined : [node.minimum, node.maximum],
    whole: node.type === 'integer',
    standard: node.default,
  }
}

/** What the form shows: not what this version does nothing with, and no tables, which have screens of their own. */
const isShown = (node: Node): boolean =>
  node.inert === undefined && !(node.type === 'object' && node.properties === undefined)

function blocksOf(path: string, node: Node, heading = ''): Block[] {
  const members = Object.entries(node.properties ?? {}).filter(([, member]) => isShown(member))
  const nested = members.filter(([, member]) => member.properties !== undefined)
  const leaves = members
    .filter(([, member]) => member.properties === undefined)
    .map(([key, member]) => leafOf(`${path}.${key}`, member))
  return [
    ...(leaves.length > 0 ? [{ heading, leaves }] : []),
    ...nested.flatMap(([key, member]) => blocksOf(`${path}.${key}`, member, member.description ?? key)),
  ]
}

function sectionOf(id: string, node: Node): Section {
  return {
    id,
    title: TITLES[id] ?? labelOf(id, false),
    description: node.description ?? '',
    isEnterprise: node.edition !== undefined,
    blocks: blocksOf(id, node),
  }
}

/** Sections in their order; those that this console does not know yet come last. */
export function groupsOf(schema: unknown): Group[] {
  // the server's own schema, whose form is JSON Schema
  const all = Object.entries((schema as Node).properties ?? {}).filter(([, node]) => isShown(node))
  const isLoose = (node: Node): boolean => node.properties === undefined
  const loose = all.filter(([, node]) => isLoose(node)).map(([key, node]) => leafOf(key, node))
  const sections = new Map(all.filter(([, node]) => !isLoose(node)).map(([id, node]) => [id, sectionOf(id, node)]))
  if (loose.length > 0)
    sections.set(GENERAL, {
      id: GENERAL,
      title: TITLES[GENERAL] ?? '',
      description: '',
      isEnterprise: false,
      blocks: [{ heading: '', leaves: loose }],
    })
  const known = new Set(GROUPS.flatMap(([, ids]) => ids))
  const more = [...sections.values()].filter(one => !known.has(one.id))
  const groups = GROUPS.map(([name, ids]) => ({ name, sections: ids.flatMap(id => sections.get(id) ?? []) }))
  return [...groups, { name: 'More', sections: more }].filter(group => group.sections.length > 0)
}

/** The value at a dotted path. */
export function valueAt(settings: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (at, key) => (typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined),
      settings,
    )
}

/** Dotted keys as the nested object that a PATCH takes. */
export function nested(change: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const [path, value] of Object.entries(change)) {
    const keys = path.split('.')
    const last = keys.pop() ?? ''
    let at = result
    for (const key of keys) at = (at[key] ??= {}) as Record<string, unknown>
    at[last] = value
  }
  return result
}

/** Why a value cannot be sent, before the server says so. */
export function faultOf(leaf: Leaf, value: unknown): string | undefined {
  if (leaf.kind !== 'number' || leaf.range === undefined) return undefined
  const [least, most] = leaf.range
  const isGood =
    typeof value === 'number' && value >= least && value <= most && (!leaf.whole || Number.isInteger(value))
  return isGood ? undefined : `A ${leaf.whole ? 'whole ' : ''}number from ${count(least)} to ${count(most)}.`
}

/** An option of a setting, as it is read. */
export const optionWord = (option: string): string =>
  (APPLIANCE_COLOURS as Readonly<Record<string, string>>)[option] ??
  (ACTION_WORDS as Readonly<Record<string, string>>)[option] ??
  option.replaceAll('_', ' ')

/** A value in words, for "was …". */
export function worded(leaf: Leaf, value: unknown): string {
  if (leaf.kind === 'switch') return value === true ? 'on' : 'off'
  if (leaf.kind === 'secret') return value === '' ? 'not set' : 'another one'
  return value === '' || value === undefined
    ? 'empty'
    : `${leaf.kind === 'choice' ? optionWord(String(value)) : String(value).slice(0, 80)}${leaf.unit === '' ? '' : ` ${leaf.unit}`}`
}

/** Whether a setting matches a search. */
export function fits(leaf: Leaf, text: string): boolean {
  const all = `${leaf.path} ${leaf.label} ${leaf.description}`.toLowerCase()
  return text
    .toLowerCase()
    .split(/\s+/)
    .every(word => all.includes(word))
}

/** The faults of single settings in a refusal: the setting, and the sentence for its field. */
export function faultsOf({ facts, fields }: ApiProblem): readonly { readonly path: string; readonly say: string }[] {
  // our own server's shape: the first fault, and the others that were found with it
  const others = (facts.others ?? []) as readonly { readonly key?: unknown; readonly why?: unknown }[]
  return [facts, ...others].map(({ key, why }, n) => ({
    path: String(key),
    say: typeof why === 'string' ? `${why.charAt(0).toUpperCase()}${why.slice(1)}.` : (fields[n]?.message ?? ''),
  }))
}
