/**
 * Python versions: `[N!]N(.N)*[{a|b|rc}N][.postN][.devN][+local]`, in all the spellings that PEP 440 normalises.
 * Source:
 * https://packaging.python.org/en/latest/specifications/version-specifiers/#appendix-parsing-version-strings-with-regular-expressions
 */
const PATTERN = new RegExp(
  [
    String.raw`^\s*v?(?:(?<epoch>\d+)!)?(?<release>\d+(?:\.\d+)*)`,
    String.raw`(?:[-_.]?(?<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?<preN>\d+)?)?`,
    String.raw`(?:-(?<postImplicit>\d+)|[-_.]?(?<post>post|rev|r)[-_.]?(?<postN>\d+)?)?`,
    String.raw`(?:[-_.]?(?<dev>dev)[-_.]?(?<devN>\d+)?)?`,
    String.raw`(?:\+(?<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*$`,
  ].join(''),
  'i',
)

const PHASE: Readonly<Record<string, number>> = { a: 0, alpha: 0, b: 1, beta: 1, c: 2, rc: 2, pre: 2, preview: 2 }

interface Version {
  readonly epoch: bigint
  /** Without zeros at the end: `1.0` and `1` are one. */
  readonly release: readonly bigint[]
  /** Phase and number; a version that is only `.dev` stands before every pre-release, a final one behind. */
  readonly pre: readonly [number, bigint]
  readonly post: bigint
  readonly dev: bigint | undefined
  readonly local: readonly (bigint | string)[] | undefined
}

const BEFORE_ALL = -1
const FINAL = 9

function read(text: string): Version | undefined {
  const part = PATTERN.exec(text)?.groups as Readonly<Record<string, string | undefined>> | undefined
  if (part === undefined || text.length > 200) return undefined
  const release = (part.release ?? '').split('.').map(BigInt)
  while (release.length > 1 && release.at(-1) === 0n) release.pop()
  const dev = part.dev === undefined ? undefined : BigInt(part.devN ?? 0)
  const hasPost = part.post !== undefined || part.postImplicit !== undefined
  const phase =
    part.pre === undefined
      ? dev !== undefined && !hasPost
        ? BEFORE_ALL
        : FINAL
      : (PHASE[part.pre.toLowerCase()] ?? FINAL)
  return {
    epoch: BigInt(part.epoch ?? 0),
    release,
    dev,
    pre: [phase, BigInt(part.preN ?? 0)],
    post: hasPost ? BigInt(part.postImplicit ?? part.postN ?? 0) : -1n,
    local: part.local
      ?.toLowerCase()
      .split(/[-_.]/)
      .map(word => (/^\d+$/.test(word) ? BigInt(word) : word)),
  }
}

const cache = new Map<string, Version | undefined>()
function readOnce(text: string): Version | undefined {
  if (cache.has(text)) return cache.get(text)
  if (cache.size >= 5_000) cache.clear()
  const version = read(text)
  cache.set(text, version)
  return version
}

const sign = (a: bigint | number | string, b: bigint | number | string): number => (a < b ? -1 : a > b ? 1 : 0)

function compareRelease(a: readonly bigint[], b: readonly bigint[]): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = sign(a[i] ?? 0n, b[i] ?? 0n)
    if (difference !== 0) return difference
  }
  return 0
}

/** Words before numbers, none before some. */
function compareLocal(a: Version['local'], b: Version['local']): number {
  if (a === undefined || b === undefined) return sign(a === undefined ? 0 : 1, b === undefined ? 0 : 1)
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const [x, y] = [a[i], b[i]]
    if (x === undefined || y === undefined) return x === undefined ? -1 : 1
    if (typeof x !== typeof y) return typeof x === 'bigint' ? 1 : -1
    const difference = sign(x, y)
    if (difference !== 0) return difference
  }
  return 0
}

/** Whether this is a version as PEP 440 writes them; nothing else is compared. */
export function isPep440(text: string): boolean {
  return readOnce(text) !== undefined
}

/**
 * Compares two Python versions: `1.0.dev1 < 1.0a1 < 1.0rc1 < 1.0 < 1.0+local < 1.0.post1 < 1!0.1`.
 * @throws TypeError for what `isPep440` refuses
 */
export function comparePep440(a: string, b: string): number {
  const x = readOnce(a)
  const y = readOnce(b)
  if (x === undefined || y === undefined) throw new TypeError(`${x === undefined ? a : b} is no Python version`)
  return (
    sign(x.epoch, y.epoch) ||
    compareRelease(x.release, y.release) ||
    sign(x.pre[0], y.pre[0]) ||
    sign(x.pre[1], y.pre[1]) ||
    sign(x.post, y.post) ||
    // a development version stands before what it develops
    (x.dev === undefined || y.dev === undefined
      ? sign(x.dev === undefined ? 1 : 0, y.dev === undefined ? 1 : 0)
      : sign(x.dev, y.dev)) ||
    compareLocal(x.local, y.local)
  )
}
