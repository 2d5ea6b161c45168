import { malformed } from '../lib/limited.ts'
import type { Found } from './component.ts'
import { isFields } from '../lib/fields.ts'

/** How to recognise and read one kind of file. `read` gets the text and the path of the file. */
interface Lockfile {
  /** Matches the whole path. PostgreSQL must understand it too, so no lookaround and no lazy quantifier. */
  readonly path: string
  read(text: string, path: string): Found[]
}

// no entry is longer; longer ones would make patterns slow
const LONGEST_LINE = 1000
const linesOf = (text: string): string[] => text.split('\n').map(line => line.slice(0, LONGEST_LINE).trimEnd())
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

function json(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    return malformed('it is not JSON', cause)
  }
  return isFields(value) ? value : malformed('it is not an object')
}

/** npm's names: `@scope/name` has its scope as namespace. */
function npm(fullName: string, version: string): Found[] {
  const [, scope, name] = /^(?:(@[^/]+)\/)?([^/@][^/]*)$/.exec(fullName) ?? []
  // a version that is an address (git, file, link) names no release
  return name === undefined || !/^\d/.test(version)
    ? []
    : [{ type: 'npm', name, version, ...(scope === undefined ? {} : { namespace: scope }) }]
}

const MAX_DEPTH = 100

/** lockfileVersion 1: a tree of names. */
function npmTree(dependencies: unknown, depth = 0): Found[] {
  if (depth > MAX_DEPTH) malformed(`its dependencies are nested more than ${MAX_DEPTH} deep`)
  return isFields(dependencies)
    ? Object.entries(dependencies).flatMap(([name, entry]) =>
        isFields(entry) ? [...npm(name, textOf(entry.version)), ...npmTree(entry.dependencies, depth + 1)] : [],
      )
    : []
}

/**
 * lockfileVersion 2 and 3: paths as keys; the empty one is the project itself. Source: docs.npmjs.com,
 * package-lock.json
 */
function packageLock(text: string): Found[] {
  const { packages, dependencies } = json(text)
  if (!isFields(packages)) return npmTree(dependencies)
  return Object.entries(packages).flatMap(([path, entry]) => {
    const name = isFields(entry) ? textOf(entry.name) || path.slice(path.lastIndexOf('node_modules/') + 13) : ''
    return isFields(entry) && path.includes('node_modules/') && entry.link !== true
      ? npm(name, textOf(entry.version))
      : []
  })
}

function packageJson(text: string): Found[] {
  const { name, version } = json(text)
  return npm(textOf(name), textOf(version))
}

/** yarn.lock, version 1 and later: a key of descriptors at the margin, `version` below it. */
function yarnLock(text: string): Found[] {
  const found: Found[] = []
  let name = ''
  for (const line of linesOf(text)) {
    if (/^[^\s#]/.test(line)) name = /^"?((?:@[^/@"]+\/)?[^/@"\s]+)@/.exec(line)?.[1] ?? ''
    const version = /^ {2}version:? "?([^"\s]+)"?/.exec(line)?.[1]
    if (version !== undefined && name !== '') found.push(...npm(name, version))
  }
  return found
}

// the name rule of PEP 508; extras in brackets follow it
const PYTHON_NAME = '([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)'
const PIN = new RegExp(
  `^${PYTHON_NAME}\\s*(?:\\[[^\\]]*\\])?\\s*={2,3}\\s*([0-9][^\\s;#,*]*)\\s*(?:[;#].*|--hash.*|\\\\)?$`,
)

/** Only requirements pinned with `==`: a range says what is wanted, not what is there. */
function requirements(text: string): Found[] {
  return linesOf(text).flatMap(line => {
    const [, name, version] = PIN.exec(line.trim()) ?? []
    return name === undefined || version === undefined ? [] : [{ type: 'pypi', name, version }]
  })
}

/** The headers of METADATA or PKG-INFO. Source: packaging.python.org, core metadata */
function metadata(text: string): Found[] {
  const [head = ''] = text.split(/\r?\n\r?\n/, 1)
  const field = (key: string): string => new RegExp(`^${key}:[ \\t]*(\\S+)[ \\t]*\\r?$`, 'mi').exec(head)?.[1] ?? ''
  const [name, version] = [field('Name'), field('Version')]
  return name === '' || version === '' || !/^Metadata-Version:/im.test(head) ? [] : [{ type: 'pypi', name, version }]
}

/** The `[[package]]` tables of Cargo.lock and poetry.lock, without reading the rest of their TOML. */
const tomlPackages =
  (type: string) =>
  (text: string): Found[] =>
    text
      .split(/^\[\[package\]\][ \t]*\r?$/m)
      .slice(1)
      .flatMap(table => {
        const [own = ''] = table.split(/^\[/m, 1)
        const field = (key: string): string => new RegExp(`^${key} = "([^"\\\\]*)"`, 'm').exec(own)?.[1] ?? ''
        const [name, version] = [field('name'), field('version')]
        return name === '' || version === '' ? [] : [{ type, name, version }]
      })

function goModule(path: string, version: string): Found {
  const slash = path.lastIndexOf('/')
  return {
    type: 'golang',
    name: path.slice(slash + 1),
    version,
    ...(slash === -1 ? {} : { namespace: path.slice(0, slash) }),
  }
}

/**
 * `require` lines and blocks; follows `replace` where it names another module. Source: go.dev/ref/mod, "go.mod files"
 */
function goMod(text: string): Found[] {
  const required: (readonly [path: string, version: string])[] = []
  const replaced = new Map<string, Found>()
  let block = ''
  for (const line of linesOf(text)) {
    const [head = '', ...rest] = line
      .replace(/\/\/.*/, '')
      .trim()
      .split(/\s+/)
    if (rest[0] === '(') block = head
    else if (head === ')') block = ''
    else {
      const [verb, words] = block === '' ? [head, rest] : [block, [head, ...rest]]
      const [path = '', version = ''] = words
      if (verb === 'require' && version.startsWith('v')) required.push([path, version])
      const [to = '', other = ''] = words.slice(words.indexOf('=>') + 1)
      if (verb === 'replace' && words.includes('=>') && other.startsWith('v')) replaced.set(path, goModule(to, other))
    }
  }
  return required.map(([path, version]) => replaced.get(path) ?? goModule(path, version))
}

const LOCKFILES: readonly Lockfile[] = [
  { path: '(^|/)(package-lock|npm-shrinkwrap)[.]json$', read: packageLock },
  { path: '(^|/)[.]package-lock[.]json$', read: packageLock },
  { path: '(^|/)node_modules/(@[^/]+/)?[^/]+/package[.]json$', read: packageJson },
  { path: '^usr/(share|lib)/nodejs/(@[^/]+/)?[^/]+/package[.]json$', read: packageJson },
  { path: '(^|/)yarn[.]lock$', read: yarnLock },
  { path: '(^|/)requirements[^/]*[.]txt$', read: requirements },
  { path: '[.]dist-info/METADATA$', read: metadata },
  { path: '[.]egg-info(/PKG-INFO)?$', read: metadata },
  { path: '(^|/)Cargo[.]lock$', read: tomlPackages('cargo') },
  { path: '(^|/)poetry[.]lock$', read: tomlPackages('pypi') },
  { path: '(^|/)go[.]mod$', read: goMod },
]

/** Java archives that are searched. */
export const JAVA_ARCHIVE = '[.](jar|war|ear|hpi)$'

/** Matches a path that may name components; for PostgreSQL's `~` over a list of paths, one a line. */
export const CANDIDATE_LINES = `(?n)${[...LOCKFILES.map(({ path }) => path), JAVA_ARCHIVE].map(path => `(${path})`).join('|')}`

const READERS = LOCKFILES.map(({ path, read }) => ({ rule: new RegExp(path), read }))

/** How to read the file at this path, or undefined when it names no components. */
export function lockfileReader(path: string): Lockfile['read'] | undefined {
  return READERS.find(({ rule }) => rule.test(path))?.read
}
