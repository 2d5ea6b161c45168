import { compareLists, compareNumerals, compareTexts, numberKey, textKey } from './numerals.ts'

const LONGEST = 200

/* The scheme of PEP 440, appendix B, with what it normalises: https://peps.python.org/pep-0440/#appendix-b */
const PRE = String.raw`(?:[._-]?(alpha|a|beta|b|preview|pre|c|rc)[._-]?(\d*))?`
const POST = String.raw`(?:-(\d+)|[._-]?(post|rev|r)[._-]?(\d*))?`
const DEV = String.raw`(?:[._-]?(dev)[._-]?(\d*))?`
const LOCAL = String.raw`(?:\+([a-z\d]+(?:[._-][a-z\d]+)*))?`
const PATTERN = new RegExp(String.raw`^v?(?:(\d+)!)?(\d+(?:\.\d+)*)${PRE}${POST}${DEV}${LOCAL}$`)

interface Python {
  readonly epoch: string
  readonly release: readonly string[]
  /** Stage and number: before all, each alpha, beta and candidate, then those without one. */
  readonly pre: readonly [stage: number, number: string]
  /** '' for none, which comes first. */
  readonly post: string
  /** '' for none, which comes last. */
  readonly dev: string
  readonly local: readonly string[]
}

const STAGES: Readonly<Record<string, number>> = { alpha: 1, a: 1, beta: 2, b: 2, preview: 3, pre: 3, c: 3, rc: 3 }
const BEFORE_ALL = 0
const FINAL = 4

function read(text: string): Python | undefined {
  const [whole, epoch = '0', release = '', stage, count, dash, post, after, dev, days, local] =
    PATTERN.exec(text.trim().toLowerCase()) ?? []
  if (whole === undefined) return undefined
  const isPost = dash !== undefined || post !== undefined
  const isDev = dev !== undefined
  return {
    epoch,
    release: release.replace(/(?:\.0+)+$/, '').split('.'),
    pre: stage === undefined ? [isDev && !isPost ? BEFORE_ALL : FINAL, '0'] : [STAGES[stage] ?? FINAL, count || '0'],
    post: isPost ? dash || after || '0' : '',
    dev: isDev ? days || '0' : '',
    local: local?.split(/[._-]/) ?? [],
  }
}

// the versions of a package are compared again and again, with many ranges
const known = new Map<string, Python | undefined>()
function parse(text: string): Python | undefined {
  if (known.has(text)) return known.get(text)
  if (known.size >= 5_000) known.clear()
  const version = read(text)
  known.set(text, version)
  return version
}

/** Whether this is a version as PEP 440 writes them, in any spelling that it normalises. */
export const isPep440 = (text: string): boolean => text.length <= LONGEST && parse(text) !== undefined

/** Whether this can be ordered: by PEP 440, or as setuptools ordered what came before it, such as `2004d`. */
export const isPython = (text: string): boolean =>
  isPep440(text) || (text.length <= LONGEST && /^(?=.*\d)[^\s<>=,;"']+$/.test(text))

/** Words of a local part stand before numbers. */
function compareLocal(a: string, b: string): number {
  const [x, y] = [/^\d+$/.test(a), /^\d+$/.test(b)]
  if (x !== y) return x ? 1 : -1
  return x ? compareNumerals(a, b) : compareTexts(a, b)
}

/** Two numbers, where '' stands for none. */
const compareOptional = (a: string, b: string, none: number): number =>
  a === '' || b === '' ? (Number(b === '') - Number(a === '')) * -none : compareNumerals(a, b)

function compareParsed(x: Python, y: Python): number {
  return (
    compareNumerals(x.epoch, y.epoch) ||
    compareLists(x.release, y.release, compareNumerals, '0') ||
    x.pre[0] - y.pre[0] ||
    compareNumerals(x.pre[1], y.pre[1]) ||
    compareOptional(x.post, y.post, -1) ||
    compareOptional(x.dev, y.dev, 1) ||
    compareLists(x.local, y.local, compareLocal)
  )
}

const FINALS = '*final'
const FINAL_DASH = '*final-'
const LEGACY_WORDS: Readonly<Record<string, string>> = { pre: 'c', preview: 'c', rc: 'c', dev: '@' }

/**
 * What setuptools compared, as text, before PEP 440: numbers of eight digits, words behind a star, and noughts before a
 * word or at the end left out. Source: pkg_resources.parse_version of setuptools before 8.0; LegacyVersion of PyPA's
 * packaging before 22.0
 */
function legacyParts(text: string): readonly string[] {
  const pieces =
    text
      .trim()
      .toLowerCase()
      .match(/\d+|[a-z]+|[.-]|[^\da-z.-]+/g) ?? []
  const all = pieces
    .filter(piece => piece !== '.')
    .map(piece =>
      /^\d/.test(piece) ? piece.padStart(8, '0') : piece === '-' ? FINAL_DASH : `*${LEGACY_WORDS[piece] ?? piece}`,
    )
  const parts: string[] = []
  for (const part of [...all, FINALS]) {
    if (part.startsWith('*')) {
      if (part < FINALS) while (parts.at(-1) === FINAL_DASH) parts.pop()
      while (parts.at(-1) === '00000000') parts.pop()
    }
    parts.push(part)
  }
  return parts
}

/**
 * Compares two Python versions: `1.0.dev1 < 1.0a1 < 1.0rc1 < 1.0 < 1.0+local < 1.0.post1 < 1!0.1`. What PEP 440 does
 * not know stands before all that it knows, in the order that setuptools had for it.
 * Source: PEP 440; checked against PyPA's packaging.
 */
export function comparePep440(a: string, b: string): number {
  const [x, y] = [parse(a), parse(b)]
  if (x !== undefined && y !== undefined) return compareParsed(x, y)
  if (x !== undefined || y !== undefined) return x === undefined ? -1 : 1
  return compareLists(legacyParts(a), legacyParts(b), compareTexts)
}

function localKey(part: string): string {
  return /^\d+$/.test(part) ? `1${numberKey(part)}` : `0${textKey(part)}`
}

/**
 * Maps a version to printable ASCII that sorts by code point as `comparePep440` does; equal versions have equal keys:
 * `1.0` and `v1.0.0` are one.
 */
export function pep440Key(text: string): string {
  const version = parse(text)
  if (version === undefined) return `!${legacyParts(text).map(textKey).join('')}!`
  const { epoch, release, pre, post, dev, local } = version
  return [
    `0${numberKey(epoch)}`,
    ...release.map(part => `1${numberKey(part)}`),
    `!${pre[0]}${numberKey(pre[1])}`,
    post === '' ? '!' : numberKey(post),
    dev === '' ? '~' : numberKey(dev),
    ...local.map(localKey),
    '!',
  ].join('')
}

const WRITTEN = ['', 'a', 'b', 'rc']
const plain = (digits: string): string => digits.replace(/^0+(?=.)/, '')

/**
 * The one way PEP 440 writes a version: `1.0rc1` for `v1.0-preview_01`; undefined for what is none. The release keeps
 * its noughts. Source: https://peps.python.org/pep-0440/#normalization
 */
export function normalPep440(text: string): string | undefined {
  const version = isPep440(text) ? parse(text) : undefined
  if (version === undefined) return undefined
  const { epoch, pre, post, dev, local } = version
  const release = /^v?(?:\d+!)?(\d+(?:\.\d+)*)/.exec(text.trim().toLowerCase())?.[1] ?? ''
  return [
    plain(epoch) === '0' ? '' : `${plain(epoch)}!`,
    release.split('.').map(plain).join('.'),
    pre[0] === FINAL || pre[0] === BEFORE_ALL ? '' : `${WRITTEN[pre[0]] ?? ''}${plain(pre[1])}`,
    post === '' ? '' : `.post${plain(post)}`,
    dev === '' ? '' : `.dev${plain(dev)}`,
    local.length === 0 ? '' : `+${local.map(part => (/^\d+$/.test(part) ? plain(part) : part)).join('.')}`,
  ].join('')
}

/** Whether PEP 440 calls it a pre-release, which clients take only when asked to: `1.0rc1`, `1.0.dev3`. */
export function isPrePep440(text: string): boolean {
  const version = parse(text)
  return version !== undefined && (version.pre[0] !== FINAL || version.dev !== '')
}
