/**
 * Debian versions: `[epoch:]upstream[-revision]`.
 * Source: deb-version(7), Debian policy 5.6.12. Checked against `dpkg --compare-versions` in version.tool.test.ts.
 */
interface Parts {
  readonly epoch: string
  readonly upstream: string
  readonly revision: string
}

function split(version: string): Parts {
  const colon = version.indexOf(':')
  const rest = version.slice(colon + 1)
  const hyphen = rest.lastIndexOf('-')
  return {
    epoch: colon === -1 ? '' : version.slice(0, colon),
    upstream: hyphen === -1 ? rest : rest.slice(0, hyphen),
    revision: hyphen === -1 ? '' : rest.slice(hyphen + 1),
  }
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57
const isLetter = (code: number): boolean => (code >= 65 && code <= 90) || (code >= 97 && code <= 122)

/** The rank of a character: the tilde sorts before the end of the text, letters before everything else. */
function rank(text: string, at: number): number {
  const code = at < text.length ? text.charCodeAt(at) : -1
  if (code === -1 || isDigit(code)) return 0
  if (code === 126) return -1
  return isLetter(code) ? code : code + 256
}

/** Two numbers as text, compared by value. */
function compareDigits(a: string, b: string): number {
  const x = a.replace(/^0+/, '')
  const y = b.replace(/^0+/, '')
  return x.length - y.length || (x < y ? -1 : x > y ? 1 : 0)
}

const digitsAt = (text: string, from: number): number => {
  let at = from
  while (at < text.length && isDigit(text.charCodeAt(at))) at++
  return at
}

function comparePart(a: string, b: string): number {
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    while ((i < a.length && !isDigit(a.charCodeAt(i))) || (j < b.length && !isDigit(b.charCodeAt(j)))) {
      const difference = rank(a, i) - rank(b, j)
      if (difference !== 0) return difference
      i++
      j++
    }
    const endA = digitsAt(a, i)
    const endB = digitsAt(b, j)
    const difference = compareDigits(a.slice(i, endA), b.slice(j, endB))
    if (difference !== 0) return difference
    i = endA
    j = endB
  }
  return 0
}

/**
 * Compares two Debian versions in dpkg's order: `1.0~rc1 < 1.0 < 1.0-1 < 1:0.9`.
 * @param a, b  [epoch:]upstream[-revision]; not validated here
 * @returns <0, 0, >0
 */
export function compareVersions(a: string, b: string): number {
  if (a === b) return 0
  const x = split(a)
  const y = split(b)
  return compareDigits(x.epoch, y.epoch) || comparePart(x.upstream, y.upstream) || comparePart(x.revision, y.revision)
}

/*
 * The key alphabet, in byte order: `!` the tilde, `#` the end of a run of other characters, letters as themselves, then
 * `{ | } ~` for `+ - . :`. Behind every `#` stands a number: how many digits it has (`a` none, `b` one, … `z` 25 and
 * more to come), then the digits. A part ends in one more `#`, which a longer part does not have in its place.
 */
const OTHERS: Readonly<Record<string, string>> = { '~': '!', '+': '{', '-': '|', '.': '}', ':': '~' }

function numberKey(digits: string): string {
  const value = digits.replace(/^0+/, '')
  const full = Math.floor(value.length / 25)
  return `${'z'.repeat(full)}${String.fromCharCode(97 + (value.length % 25))}${value}`
}

function partKey(part: string): string {
  let key = ''
  let at = 0
  do {
    while (at < part.length && !isDigit(part.charCodeAt(at))) {
      const char = part.charAt(at++)
      // invalid characters sort last; a key is printable ASCII in any case
      key += OTHERS[char] ?? (isLetter(char.charCodeAt(0)) ? char : `~${char.charCodeAt(0)}`)
    }
    const end = digitsAt(part, at)
    key += `#${numberKey(part.slice(at, end))}`
    at = end
  } while (at < part.length)
  return `${key}#`
}

/**
 * Maps a version to printable ASCII that sorts by bytes (`collate "C"`) as `compareVersions` does; equal versions have
 * equal keys: `1.0` and `0:1.00-0` are one.
 */
export function versionKey(version: string): string {
  const { epoch, upstream, revision } = split(version)
  return numberKey(epoch) + partKey(upstream) + partKey(revision)
}

/** The longest version accepted: it must fit into a file name with name and architecture. */
const MAX_VERSION = 128
const MAX_EPOCH = 2 ** 31 - 1

/**
 * Why dpkg would refuse this version, or undefined. Source: deb-version(7); epoch range and `:` as dpkg's parseversion.
 */
export function complainVersion(version: string): string | undefined {
  const { epoch, upstream, revision } = split(version)
  if (version.length > MAX_VERSION) return `it has ${version.length} characters, at most ${MAX_VERSION} are allowed`
  if (version.includes(':') && !/^\d+$/.test(epoch)) return 'the epoch before its colon is not a number'
  if (Number(epoch) > MAX_EPOCH) return `its epoch is larger than ${MAX_EPOCH}`
  if (!/^\d/.test(upstream)) return 'the upstream version must begin with a digit'
  if (!/^[A-Za-z0-9.+:~-]+$/.test(upstream)) return 'the upstream version may hold only letters, digits and . + - : ~'
  if (version.includes('-') && revision === '') return 'the revision after its last hyphen is empty'
  if (!/^[A-Za-z0-9.+~]*$/.test(revision)) return 'the revision may hold only letters, digits and . + ~'
  return undefined
}
