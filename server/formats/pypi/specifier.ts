import { comparePep440, isPep440, isPrePep440, normalPep440 } from '../../core/versions/pep440.ts'

/** One bound: `>=1.0`, `==1.*`, `~=2.2`, `===anything`. */
export interface Bound {
  readonly op: string
  readonly version: string
}

/** Source: packaging.python.org, version specifiers (PEP 440) */
const BOUND = /^(===|==|~=|!=|<=|>=|<|>)\s*(\S+)$/

const isSeries = (version: string): boolean => version.endsWith('.*')
const seriesOf = (version: string): string => version.slice(0, -2)

function isRight({ op, version }: Bound): boolean {
  if (op === '===') return version.length <= 100
  if (isSeries(version)) return (op === '==' || op === '!=') && isPep440(seriesOf(version)) && !/dev|\+/.test(version)
  // a compatible release needs two parts: one would allow everything
  return isPep440(version) && (op !== '~=' || /\d+\.\d+/.test(version))
}

/** The bounds of a specifier set, `>=1,<2,!=1.5`; none for an empty one. Undefined for what is no such set. */
export function readBounds(text: string): readonly Bound[] | undefined {
  const bounds: Bound[] = []
  for (const part of text.split(',').map(one => one.trim())) {
    if (part === '') continue
    const [, op = '', version = ''] = BOUND.exec(part) ?? []
    if (!isRight({ op, version })) return undefined
    bounds.push({ op, version })
  }
  return bounds
}

/** `>=1,<2`: the set as it is kept. */
export const printBounds = (bounds: readonly Bound[]): string => bounds.map(({ op, version }) => op + version).join(',')

const releaseOf = (version: string): readonly string[] =>
  (/^(?:\d+!)?(\d+(?:\.\d+)*)/.exec(normalPep440(version) ?? '')?.[1] ?? '').split('.')
const epochOf = (version: string): string => /^(\d+)!/.exec(normalPep440(version) ?? '')?.[1] ?? '0'
const publicOf = (version: string): string => version.replace(/\+.*$/, '')

/** Whether a version belongs to `1.2.*`: missing places are noughts. */
function isIn(version: string, series: string): boolean {
  if (epochOf(version) !== epochOf(series)) return false
  const have = releaseOf(version)
  const wantsPre = /[a-z]/.test((normalPep440(series) ?? '').replace(/\.post\d*$/, ''))
  if (wantsPre) return (normalPep440(version) ?? '').startsWith(normalPep440(series) ?? '')
  return releaseOf(series).every((part, at) => (have[at] ?? '0') === part)
}

const isSameRelease = (a: string, b: string): boolean =>
  epochOf(a) === epochOf(b) &&
  releaseOf(a)
    .join('.')
    .replace(/(\.0)+$/, '') ===
    releaseOf(b)
      .join('.')
      .replace(/(\.0)+$/, '')

function isAbove(version: string, bound: string): boolean {
  if (comparePep440(version, bound) <= 0) return false
  // neither a later build of the same release nor its post-releases are above it, unless the bound names one
  if (isSameRelease(version, bound) && version.includes('+')) return false
  return !(
    isSameRelease(version, bound) &&
    /\.post/.test(normalPep440(version) ?? '') &&
    !/\.post/.test(normalPep440(bound) ?? '')
  )
}

function isBelow(version: string, bound: string): boolean {
  if (comparePep440(version, bound) >= 0) return false
  // a pre-release of the bound is not below it, unless the bound is one itself
  return !(isPrePep440(version) && !isPrePep440(bound) && isSameRelease(version, bound))
}

function isWithin(version: string, { op, version: bound }: Bound): boolean {
  // a local part counts where the bound has one
  const plain = bound.includes('+') ? version : publicOf(version)
  switch (op) {
    case '===':
      return version.toLowerCase() === bound.toLowerCase()
    case '==':
      return isSeries(bound) ? isIn(version, seriesOf(bound)) : comparePep440(plain, bound) === 0
    case '!=':
      return isSeries(bound) ? !isIn(version, seriesOf(bound)) : comparePep440(plain, bound) !== 0
    case '~=':
      return (
        comparePep440(plain, bound) >= 0 &&
        isIn(version, `${epochOf(bound)}!${releaseOf(bound).slice(0, -1).join('.')}`)
      )
    case '<=':
      return comparePep440(plain, bound) <= 0
    case '>=':
      return comparePep440(plain, bound) >= 0
    case '<':
      return isBelow(version, bound)
    default:
      return isAbove(version, bound)
  }
}

/** Whether a version is within all bounds. Pre-releases count: whether a client takes one is the client's affair. */
export const satisfiesBounds = (version: string, bounds: readonly Bound[]): boolean =>
  bounds.every(bound => isWithin(version, bound))
