import semver from 'semver'

/** Advisories also write `1`, `1.2` and `v1.2.3`; npm accepts them. */
function complete(text: string): string {
  const [, numbers = '', rest = ''] = /^[v=\s]*(\d+(?:\.\d+)?)((?:[-+].*)?)$/.exec(text) ?? []
  return numbers === '' ? text : `${numbers}${'.0'.repeat(3 - numbers.split('.').length)}${rest}`
}

// the versions of a package are compared again and again, with many ranges
const parsed = new Map<string, semver.SemVer | null>()

function parse(text: string): semver.SemVer | null {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const version = semver.parse(complete(text), { loose: true })
  if (parsed.size >= 5_000) parsed.clear()
  parsed.set(text, version)
  return version
}

/** Whether this is a version as semver writes them; nothing else is compared. */
export function isSemver(text: string): boolean {
  return text.length <= 256 && parse(text) !== null
}

/** Precedence of semver.org 2.0.0, 11; build metadata does not count. @throws TypeError for what `isSemver` refuses */
export function compareSemver(a: string, b: string): number {
  const x = parse(a)
  const y = parse(b)
  if (x === null || y === null) throw new TypeError(`${x === null ? a : b} is no semantic version`)
  return x.compare(y)
}
