import { holds, type RelationOp } from '../../core/relation.ts'

/**
 * rpm versions: `[epoch:]version[-release]`.
 * Source: rpm-version(7); checked against rpm itself in version.tool.test.ts.
 */
export interface Evr {
  /** Absent where none is written; rpm reads that as 0. */
  readonly epoch?: string
  readonly version: string
  readonly release?: string
}

/**
 * Takes `[epoch:]version[-release]` apart as rpm does: digits before a colon are the epoch, the last hyphen divides.
 */
export function parseEvr(text: string): Evr {
  const [prefix, digits] = /^(\d*):/.exec(text) ?? []
  const rest = prefix === undefined ? text : text.slice(prefix.length)
  const hyphen = rest.lastIndexOf('-')
  return {
    ...(digits === undefined ? {} : { epoch: digits === '' ? '0' : digits }),
    version: hyphen === -1 ? rest : rest.slice(0, hyphen),
    ...(hyphen === -1 ? {} : { release: rest.slice(hyphen + 1) }),
  }
}

/** A version as a bound: to rpm nothing behind a hyphen is no release. */
export function parseBound(text: string): Evr {
  const { release, ...rest } = parseEvr(text)
  return release === undefined || release === '' ? rest : { ...rest, release }
}

/** The one way a version is written here: an epoch of 0 is left out. */
export function printEvr({ epoch, version, release }: Evr): string {
  return `${epoch === undefined || /^0*$/.test(epoch) ? '' : `${epoch.replace(/^0+/, '')}:`}${version}${release === undefined ? '' : `-${release}`}`
}

/** `~`, the end of the text, `^`, a run of letters, a run of digits: in this order, whatever follows them. */
const KINDS = { tilde: 0, end: 1, caret: 2, letters: 3, digits: 4 } as const
type Kind = (typeof KINDS)[keyof typeof KINDS]
interface Segment {
  readonly kind: Kind
  readonly text: string
}

const END: Segment = { kind: KINDS.end, text: '' }

/** Everything that is no letter, digit, tilde or caret only divides. Digits without their leading zeros. */
function segmentsOf(text: string): Segment[] {
  return (text.match(/~|\^|[A-Za-z]+|[0-9]+/g) ?? []).map((run): Segment => {
    if (run === '~') return { kind: KINDS.tilde, text: run }
    if (run === '^') return { kind: KINDS.caret, text: run }
    return /^[0-9]/.test(run)
      ? { kind: KINDS.digits, text: run.replace(/^0+/, '') }
      : { kind: KINDS.letters, text: run }
  })
}

function comparePart(a: string, b: string): number {
  if (a === b) return 0
  const [x, y] = [segmentsOf(a), segmentsOf(b)]
  for (let i = 0; i < x.length || i < y.length; i++) {
    const [one, two] = [x[i] ?? END, y[i] ?? END]
    if (one.kind !== two.kind) return one.kind - two.kind
    const longer = one.kind === KINDS.digits ? one.text.length - two.text.length : 0
    if (longer !== 0) return longer
    if (one.text !== two.text) return one.text < two.text ? -1 : 1
  }
  return 0
}

/**
 * Compares two rpm versions in rpm's order: `1.0~rc1-1 < 1.0-1 < 1.0^git1-1 < 1.0.1-1 < 1:0.9-1`. One without a release
 * comes before the same one with any.
 * @param a, b  [epoch:]version[-release]; not validated here
 * @returns <0, 0, >0
 */
export function compareVersions(a: string, b: string): number {
  if (a === b) return 0
  const [x, y] = [parseEvr(a), parseEvr(b)]
  const order = comparePart(x.epoch ?? '0', y.epoch ?? '0') || comparePart(x.version, y.version)
  if (order !== 0 || (x.release === undefined && y.release === undefined)) return order
  if (x.release === undefined) return -1
  return y.release === undefined ? 1 : comparePart(x.release, y.release)
}

/**
 * True when a package of exactly `have` is within `op` `need`. A side without an epoch has 0; where one side has no
 * release the releases are not compared, as long as the other side's bound includes equality.
 * Source: rpm 4.18, dependency matching; checked against dnf's solver in relation.test.ts.
 */
export function isWithin(have: string, op: RelationOp, need: string): boolean {
  const [x, y] = [parseBound(have), parseBound(need)]
  let order = comparePart(x.epoch ?? '0', y.epoch ?? '0') || comparePart(x.version, y.version)
  if (order === 0) {
    if (x.release !== undefined && y.release !== undefined) order = comparePart(x.release, y.release)
    // `foo = 1.0` means any release of it, so it may satisfy any release
    else if (y.release !== undefined) return true
  }
  return holds(order, op)
}

/*
 * The key alphabet, in byte order: `!` the tilde, `"` the end of a part, `#` the caret, `$` the end of a run of
 * letters, letters as themselves, `{` before a number: how many digits it has (`a` none, `b` one, … `z` 25 and more to
 * come), then the digits.
 */
function numberKey(value: string): string {
  const full = Math.floor(value.length / 25)
  return `{${'z'.repeat(full)}${String.fromCharCode(97 + (value.length % 25))}${value}`
}

function partKey(part: string): string {
  const keys = segmentsOf(part).map(({ kind, text }) => {
    switch (kind) {
      case KINDS.tilde:
        return '!'
      case KINDS.caret:
        return '#'
      case KINDS.digits:
        return numberKey(text)
      default:
        return `${text}$`
    }
  })
  return `${keys.join('')}"`
}

/**
 * Maps a version to printable ASCII that sorts by bytes (`collate "C"`) as `compareVersions` does; equal versions have
 * equal keys: `1.0-1` and `0:1.00-01` are one.
 */
export function versionKey(text: string): string {
  const { epoch, version, release } = parseEvr(text)
  return partKey(epoch ?? '0') + partKey(version) + (release === undefined ? '' : partKey(release))
}

/** The longest version accepted: it must fit into a file name with name and architecture. */
const MAX_VERSION = 128
/** rpm keeps it in 32 bits. */
const MAX_EPOCH = 2 ** 32 - 1

/** Why this is no version of a package, or undefined. Characters as rpmbuild allows them, rpm-spec(5). */
export function complainVersion(text: string): string | undefined {
  const { epoch, version, release } = parseEvr(text)
  if (text.length > MAX_VERSION) return `it has ${text.length} characters, at most ${MAX_VERSION} are allowed`
  if (Number(epoch ?? 0) > MAX_EPOCH) return `its epoch is larger than ${MAX_EPOCH}`
  if (release === undefined) return 'it has no release behind a hyphen'
  for (const [what, part] of [
    ['version', version],
    ['release', release],
  ] as const) {
    if (part === '') return `its ${what} is empty`
    if (!/^[A-Za-z0-9._+~^]+$/.test(part)) return `its ${what} may hold only letters, digits and . _ + ~ ^`
    if (!/[A-Za-z0-9]/.test(part)) return `its ${what} holds neither a letter nor a digit`
  }
  return epoch !== undefined && printEvr({ epoch, version, release }) !== text
    ? 'its epoch is written with zeros, which are left out'
    : undefined
}
