import type { Purl } from '../core/purl.ts'
import type { Reader } from './reader.ts'
import { tomlTables } from './toml-tables.ts'

type Wanted = Pick<Purl, 'type' | 'namespace' | 'name'> & { readonly version: string }

/** How to recognise and read one kind of file. */
interface Lockfile {
  /** Matches the whole path. */
  readonly path: RegExp
  readonly rule: string
  read(text: string): Wanted[]
}

const MOST_LOCKFILE = 16 * 1024 * 1024

// no entry is longer; longer ones would make patterns slow
const LONGEST_LINE = 1000
const linesOf = (text: string): string[] => text.split('\n').map(line => line.slice(0, LONGEST_LINE).trimEnd())

function cargoLock(text: string): Wanted[] {
  return [...tomlTables(text, 'package')].flatMap(table => {
    const [name, version] = [table.get('name'), table.get('version')]
    return name === undefined || version === undefined ? [] : [{ type: 'cargo', name, version }]
  })
}

function goModule(path: string, version: string): Wanted {
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
function goMod(text: string): Wanted[] {
  const required: (readonly [path: string, version: string])[] = []
  const replaced = new Map<string, Wanted>()
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
  { path: /(?:^|\/)Cargo[.]lock$/, rule: 'cargo-lock', read: cargoLock },
  { path: /(?:^|\/)go[.]mod$/, rule: 'go-mod', read: goMod },
]

/** Readers of what compiled programs were to be built from. */
export const lockfileReaders: readonly Reader[] = LOCKFILES.map(({ path, rule, read }) => ({
  id: rule,
  wants: file => path.test(file.path),
  async read(file) {
    const text = (await file.whole(MOST_LOCKFILE)).toString('utf8')
    return { found: read(text).map(one => ({ ...one, presence: 'declared', rule, confidence: 'certain' })) }
  },
}))
