import type { Row, Span } from '../advisory.ts'
import { withoutEpoch } from '../versions/epoch.ts'

/**
 * Module streams of RPM distributions. A package of one stream says nothing about the same package of another:
 * postgresql 10 is fixed in 10.23 and postgresql 12 in 12.15, under one name. Source:
 * https://docs.fedoraproject.org/en-US/modularity/
 */

/**
 * The mark that module builds leave in a release: `1.module_el8.9.0+3627+db8ec155`, `2.module+el9.1.0+13358+56c3b6a3`.
 */
const MARK = /\.module[_+]/
const NAME_STREAM = /(?<![\w+.-])([A-Za-z0-9][\w+.-]*):([\w+.-]+)/g

/** `httpd:2.4` of a label `httpd:2.4:8040020210127115317:9f9e2e7e`, and of itself. */
function streamOf(label: string | undefined): string | undefined {
  const [name = '', stream = ''] = (label ?? '').split(':')
  return name === '' || stream === '' ? undefined : `${name}:${stream}`
}

function hasModuleMark(version: string): boolean {
  return MARK.test(version)
}

/**
 * The modules that a fix was built in: undefined for none, empty when unknown. Where the record does not name them, its
 * title may: `Important: nodejs:16 security update`.
 */
export function modulesOf(
  spans: readonly Span[],
  said: unknown,
  title: string | undefined,
): readonly string[] | undefined {
  const labels = (Array.isArray(said) ? (said as readonly unknown[]) : [said])
    .filter(label => typeof label === 'string')
    .map(streamOf)
    .filter(stream => stream !== undefined)
  if (labels.length > 0) return labels
  if (!spans.some(({ to }) => to !== undefined && hasModuleMark(to))) return undefined
  const text = (title ?? '').replace(/^\w+: /, '')
  return [...text.matchAll(NAME_STREAM)].map(([, name = '', stream = '']) => `${name}:${stream.replace(/[.,]$/, '')}`)
}

/**
 * The module build that a version comes from: `.module_el8.9.0+3635+c6f99506`, the same in everything built with it.
 */
function buildOf(version: string): string | undefined {
  return /\.module[_+][^-]*$/.exec(version)?.[0]
}

/**
 * The streams that a package comes from: from its label or, where its header has none, from fixes of the same module
 * build. Empty when unknown.
 */
export function streamsOf(
  { version, module }: { readonly version: string; readonly module?: string },
  rows: readonly Pick<Row, 'spans' | 'modules'>[],
): readonly string[] {
  const said = streamOf(module)
  if (said !== undefined) return [said]
  const build = buildOf(version)
  return build === undefined
    ? []
    : (rows.find(
        ({ modules = [], spans }) =>
          modules.length > 0 && spans.some(({ to }) => to !== undefined && buildOf(to) === build),
      )?.modules ?? [])
}

/** The module of the package to match: its streams or, where they are unknown, the mark in its release. */
export interface ModularPackage {
  readonly version: string
  readonly streams: readonly string[]
}

const firstNumber = (version: string): string => /^(?:\d+:)?(\d+)/.exec(version)?.[1] ?? ''
const nameless = (stream: string): string => stream.slice(stream.indexOf(':') + 1)
/** True for `12` and `12.15-1`, `7.2` and `7.2.24-1`; streams such as `rhel8` follow no version. */
const follows = (stream: string, version: string): boolean =>
  /^\d/.test(stream) &&
  (`${withoutEpoch(version)}.`.startsWith(`${stream}.`) || withoutEpoch(version).startsWith(`${stream}-`))

/**
 * Whether a fix concerns this package. Where a stream is unknown on either side, the first number of the version is
 * compared: on AlmaLinux 8 that gave no false positive, where comparing versions alone gave only those.
 */
export function isSameStream(
  { version, streams }: ModularPackage,
  fix: { readonly modules: readonly string[] | undefined; readonly to: string | undefined },
): boolean {
  const isModular = streams.length > 0 || hasModuleMark(version)
  if (fix.modules === undefined) return !isModular
  if (!isModular) return false
  if (streams.length > 0 && fix.modules.length > 0) return fix.modules.some(one => streams.includes(one))
  const to = fix.to ?? version
  // the package after which a module is named has the stream's version, as has nearly all that is built from it
  const own = fix.modules.map(nameless).find(one => follows(one, to))
  if (own !== undefined) return follows(own, version)
  const asked = streams.map(nameless).find(one => follows(one, version))
  if (asked !== undefined) return follows(asked, to)
  return firstNumber(to) === firstNumber(version)
}
