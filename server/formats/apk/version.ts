/**
 * Alpine versions: `1.2.3a_alpha4~0123abc-r5`: numbers, a letter, suffixes with numbers, a commit, a revision.
 * Source: apk-tools 3, src/version.c and apk-package(5). apk-tools 2 differs where a number behind a dot has leading
 * zeros (2: more zeros are less, `8.2.0 > 8.2.001`; 3: as text, `8.2.0 < 8.2.001`) and knows no commit. The order here
 * is that of 3, which keeps every example that 2 tests itself with, and which its clients move to. Only a number behind
 * a letter, as in OpenSSH's `6.6.2p1`, is ordered as 2 does: to 3 it is no version any more, but Alpine had some.
 */
type Kind = 'digit' | 'letter' | 'suffix' | 'number' | 'commit' | 'revision' | 'end' | 'invalid'
interface Token {
  readonly kind: Kind
  readonly text: string
}

const BEFORE = ['alpha', 'beta', 'pre', 'rc']
const AFTER = ['cvs', 'svn', 'git', 'hg', 'p']

/** The tokens that may follow each token, as in `token_next` of apk-tools; sticky expressions, tried in this order. */
const RULES: readonly { readonly kind: Kind; readonly after: readonly Kind[]; readonly pattern: RegExp }[] = [
  { kind: 'letter', after: ['digit'], pattern: /([a-z])/y },
  { kind: 'digit', after: ['digit'], pattern: /\.(\d+)/y },
  // as in `5.7.1p1`: only apk-tools 2 has it, and versions of Alpine up to 3.16
  { kind: 'digit', after: ['letter'], pattern: /0*(\d+)/y },
  { kind: 'number', after: ['suffix'], pattern: /(\d+)/y },
  {
    kind: 'suffix',
    after: ['digit', 'letter', 'suffix', 'number'],
    pattern: /_(alpha|beta|pre|rc|cvs|svn|git|hg|p)(?![a-z])/y,
  },
  { kind: 'commit', after: ['digit', 'letter', 'suffix', 'number'], pattern: /~([0-9a-f]+)/y },
  { kind: 'revision', after: ['digit', 'letter', 'suffix', 'number', 'commit'], pattern: /-r(\d+)/y },
]

/** The first number, then the tokens behind it, with `end` or `invalid` as the last. */
function tokenise(version: string): { readonly first: string; readonly rest: readonly Token[] } {
  const first = /^\d+/.exec(version)?.[0] ?? ''
  const rest: Token[] = []
  let kind: Kind = first === '' ? 'invalid' : 'digit'
  for (let at = first.length; kind !== 'invalid' && at < version.length;) {
    const found = RULES.filter(rule => rule.after.includes(kind))
      .map(rule => {
        rule.pattern.lastIndex = at
        return { kind: rule.kind, match: rule.pattern.exec(version) }
      })
      .find(({ match }) => match !== null)
    kind = found?.kind ?? 'invalid'
    const [whole = '', text = ''] = found?.match ?? []
    if (found !== undefined) rest.push({ kind, text })
    at += whole.length
  }
  rest.push({ kind: kind === 'invalid' ? 'invalid' : 'end', text: '' })
  return { first, rest }
}

/*
 * What stands at one place, from the lowest to the highest: a suffix of before, nothing of sense, the end, a revision,
 * a commit, the number of a suffix, a suffix of after, a letter, one more number. One character each, in byte order, so
 * that the order of tokens and that of keys are one.
 */
const RANK: Readonly<Record<string, string>> = {
  alpha: '#',
  beta: '$',
  pre: '%',
  rc: '&',
  invalid: '(',
  end: ')',
  revision: '*',
  commit: '+',
  number: ',',
  cvs: '-',
  svn: '.',
  git: '/',
  hg: ':',
  p: ';',
  letter: '<',
  digit: '=',
}

/** A number by its value: how many digits it has (`a` none, `b` one, … `z` 25 and more to come), then the digits. */
function numberKey(digits: string): string {
  const value = digits.replace(/^0+/, '')
  return `${'z'.repeat(Math.floor(value.length / 25))}${String.fromCharCode(97 + (value.length % 25))}${value}`
}

function tokenKey({ kind, text }: Token): string {
  switch (kind) {
    case 'suffix':
      return RANK[text] ?? ''
    // with a leading zero it is compared as text, and so it is less than every number without one; `!` ends the text
    case 'digit':
      return `${RANK[kind]}${text.startsWith('0') ? `${text}!` : numberKey(text)}`
    case 'number':
    case 'revision':
      return `${RANK[kind]}${numberKey(text)}`
    case 'commit':
      return `${RANK[kind]}${text}!`
    case 'letter':
      return `${RANK[kind]}${text}`
    case 'end':
    case 'invalid':
      return RANK[kind] ?? ''
  }
}

/**
 * Maps a version to printable ASCII that sorts by bytes (`collate "C"`) as `compareVersions` does; equal versions have
 * equal keys: `1.0-r1` and `01.0-r01` are one.
 */
export function versionKey(version: string): string {
  const { first, rest } = tokenise(version)
  return numberKey(first) + rest.map(tokenKey).join('')
}

/**
 * Compares two Alpine versions: `1.0_alpha1 < 1.0_rc1 < 1.0 < 1.0-r1 < 1.0_p1 < 1.0a < 1.0.1`.
 * @returns <0, 0, >0
 */
export function compareVersions(a: string, b: string): number {
  if (a === b) return 0
  const [x, y] = [versionKey(a), versionKey(b)]
  return x < y ? -1 : x > y ? 1 : 0
}

/**
 * True when `version` is `prefix`, or goes on where it ends: `1.2.3-r1` begins as `1.2`, `1.20` does not. Source: `~`
 * of apk-tools.
 */
export function beginsAs(version: string, prefix: string): boolean {
  const [have, need] = [tokenise(version), tokenise(prefix)]
  const wanted = need.rest.filter(token => token.kind !== 'end')
  return (
    numberKey(have.first) === numberKey(need.first) &&
    wanted.every((token, n) => {
      const other = have.rest[n]
      return other !== undefined && tokenKey(other) === tokenKey(token)
    })
  )
}

/** The longest version accepted: it must fit into a file name with name and architecture. */
const MAX_VERSION = 128
/** apk-tools 2 refuses numbers of more digits. */
const MAX_DIGITS = 17

/** Why apk would refuse this version, or undefined. */
export function complainVersion(version: string): string | undefined {
  if (version.length > MAX_VERSION) return `it has ${version.length} characters, at most ${MAX_VERSION} are allowed`
  if (new RegExp(`\\d{${MAX_DIGITS + 1}}`).test(version.replace(/~[0-9a-f]+/, '')))
    return `it has a number of more than ${MAX_DIGITS} digits`
  const { first, rest } = tokenise(version)
  if (first === '') return 'it must begin with a digit'
  if (rest.at(-1)?.kind !== 'invalid') return undefined
  return `apk-package(5) wants numbers and dots, then perhaps a letter, suffixes such as ${[...BEFORE, ...AFTER].map(one => `_${one}`).join(' ')}, a ~commit and -r with a number`
}
