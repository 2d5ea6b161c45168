import type { Span } from './advisory.ts'

/**
 * Module streams of RPM distributions. A package of one stream says nothing about the same package of another: postgresql 10
 * is fixed in 10.23 and postgresql 12 in 12.15, under one name. Source: https://docs.fedoraproject.org/en-US/modularity/
 */

/** `1.module_el8.9.0+3627+db8ec155`, `2.module+el9.1.0+13358+56c3b6a3`: the mark that module builds leave in a release. */
const MARK = /\.module[_+]/
const NAME_STREAM = /(?<![\w+.-])([A-Za-z0-9][\w+.-]*):([\w+.-]+)/g

/** `httpd:2.4` of a label `httpd:2.4:8040020210127115317:9f9e2e7e`, and of itself. */
export function streamOf(label: string | undefined): string | undefined {
  const [name = '', stream = ''] = (label ?? '').split(':')
  return name === '' || stream === '' ? undefined : `${name}:${stream}`
}

export function hasModuleMark(version: string): boolean {
  return MARK.test(version)
}

/**
 * Which modules a fix was built in: undefined for none, empty when nobody says which. Where the record itself does not, its
 * title does: `Important: nodejs:16 security update`.
 */
export function modulesOf(spans: readonly Span[], said: unknown, title: string | undefined): readonly string[] | undefined {
  const labels = (Array.isArray(said) ? said as readonly unknown[] : [said]).filter(label => typeof label === 'string').map(streamOf).filter(stream => stream !== undefined)
  if (labels.length > 0) return labels
  if (!spans.some(({ to }) => to !== undefined && hasModuleMark(to))) return undefined
  const text = (title ?? '').replace(/^\w+: /, '')
  return [...text.matchAll(NAME_STREAM)].map(([, name = '', stream = '']) => `${name}:${stream.replace(/[.,]$/, '')}`)
}

/** What is asked about: `modular` by its label or, where the header has none, by the mark in its release. */
export interface ModularPackage { readonly name: string; readonly version: string; readonly module?: string }

const firstNumber = (version: string): string => /^(?:\d+:)?(\d+)/.exec(version)?.[1] ?? ''
const withoutEpoch = (version: string): string => version.replace(/^\d+:/, '')
/** True for `12` and `12.15-1`, `7.2` and `7.2.24-1`; streams such as `rhel8` follow no version. */
const follows = (stream: string, version: string): boolean => /^\d/.test(stream) && (`${withoutEpoch(version)}.`.startsWith(`${stream}.`) || withoutEpoch(version).startsWith(`${stream}-`))

/**
 * Whether a fix says anything about this package. Without a stream on both sides what is left to compare is the first number
 * of the version; on AlmaLinux 8 that gave no false positive where comparing versions alone gave nothing else.
 */
export function isSameStream({ name, version, module }: ModularPackage, fix: { readonly modules: readonly string[] | undefined; readonly to: string | undefined }): boolean {
  const stream = streamOf(module)
  const isModular = stream !== undefined || hasModuleMark(version)
  if (fix.modules === undefined) return !isModular
  if (!isModular) return false
  if (stream !== undefined && fix.modules.length > 0) return fix.modules.includes(stream)
  const to = fix.to ?? version
  // the package that gives its module the name has the stream's version, or nearly always
  const own = fix.modules.find(one => one.startsWith(`${name}:`))?.slice(name.length + 1)
  if (own !== undefined && /^\d/.test(own) && follows(own, to)) return follows(own, version)
  const asked = stream?.split(':')[1]
  if (asked !== undefined && follows(asked, version)) return follows(asked, to)
  return firstNumber(to) === firstNumber(version)
}
