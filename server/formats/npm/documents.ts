import type { PackageIdentity } from '../../core/identity.ts'
import { fieldsOf, isFields, type Fields } from '../../lib/fields.ts'
import { malformed, quote } from '../../lib/limited.ts'
import { readDependencies } from './dependencies.ts'
import { splitName } from './name.ts'

/** The fields of a version in the abbreviated form. Source: npm/registry, docs/responses/package-metadata.md */
const SHORT_FIELDS = [
  'name',
  'version',
  'dependencies',
  'optionalDependencies',
  'devDependencies',
  'bundleDependencies',
  'peerDependencies',
  'peerDependenciesMeta',
  'acceptDependencies',
  'bin',
  'directories',
  'engines',
  'os',
  'cpu',
  'libc',
  'funding',
  'hasInstallScript',
  '_hasShrinkwrap',
]

/** Scripts that npm runs when it installs a package, in its order. Source: docs.npmjs.com, scripts, "npm install" */
export const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall'] as const
const BUILD = 'node-gyp rebuild'

/** What the registry says itself, so that no package says it. */
const OURS = new Set([
  'dist',
  'deprecated',
  '_id',
  '_rev',
  '_attachments',
  '_npmUser',
  'hasInstallScript',
  '_hasShrinkwrap',
])

const cleanTarget = (path: string): string =>
  path
    .split('/')
    .filter(segment => segment !== '' && segment !== '.')
    .join('/')

/**
 * The commands of a package, by their names. npm makes them from `bin`, which may be one path, or from the files below
 * `directories.bin`. @throws Malformed where one would lie outside
 */
export function commandsOf(json: Fields, paths: readonly string[]): ReadonlyMap<string, string> {
  const { bin, directories } = json
  const folder = fieldsOf(directories)['bin']
  const pairs: (readonly [string, unknown])[] =
    typeof bin === 'string'
      ? [[splitName(String(json['name']))[1], bin]]
      : isFields(bin)
        ? Object.entries(bin)
        : typeof folder === 'string'
          ? paths
              .filter(path => path.startsWith(`${cleanTarget(folder)}/`))
              .map(path => [path.slice(path.lastIndexOf('/') + 1), path])
          : []
  return new Map(
    pairs.flatMap(([name, path]): [string, string][] => {
      if (typeof path !== 'string') return []
      const command = name.slice(name.lastIndexOf('/') + 1)
      if (!/^[^\s/\\:]{1,214}$/.test(command) || command.startsWith('.'))
        malformed(`package.json: bin names a command ${quote(name)}, which cannot be one`)
      const target = cleanTarget(path)
      if (/[\\]|^[A-Za-z]:/.test(path) || target.split('/').includes('..'))
        malformed(`package.json: the command ${quote(name)} leads to ${quote(path)}, outside the package`)
      return [[command, target]]
    }),
  )
}

/** The scripts that installing runs, `node-gyp rebuild` included where a binding.gyp asks for it. */
export function installScriptsOf(json: Fields, paths: readonly string[]): ReadonlyMap<string, string> {
  const scripts = fieldsOf(json['scripts'])
  const said = INSTALL_SCRIPTS.flatMap((name): [string, string][] => {
    const text = Object.hasOwn(scripts, name) ? scripts[name] : undefined
    return typeof text === 'string' && text.trim() !== '' ? [[name, text.trim()]] : []
  })
  const isBuilt = paths.includes('binding.gyp') && json['gypfile'] !== false
  const runsOwn = said.some(([name]) => name !== 'postinstall')
  return new Map(isBuilt && !runsOwn ? [...said, ['install', BUILD]] : said)
}

/** An object with these members, whatever their names are: `__proto__` is one like any other. */
const objectOf = (pairs: Iterable<readonly [string, unknown]>): Fields => Object.fromEntries(pairs)

/** The JSON texts of a version, in full and abbreviated. */
export interface VersionDocuments {
  readonly full: string
  readonly short: string
}

function printBoth(full: Fields): VersionDocuments {
  const short = objectOf(SHORT_FIELDS.flatMap(key => (Object.hasOwn(full, key) ? [[key, full[key]] as const] : [])))
  return { full: JSON.stringify(full), short: JSON.stringify(short) }
}

/**
 * What a registry says of one version, as JSON text: in full, and for installing alone. `dist` is missing: it holds the
 * address by which the registry was asked.
 * @param paths  the files of the package, from its root
 * @throws Malformed
 */
export function documentsOf(
  json: Fields,
  { name, version }: PackageIdentity,
  paths: readonly string[],
): VersionDocuments {
  const optional = readDependencies(json, 'optionalDependencies')
  const dependencies = new Map([...readDependencies(json, 'dependencies')].filter(([one]) => !optional.has(one)))
  const commands = commandsOf(json, paths)
  const bundled = json['bundleDependencies'] ?? json['bundledDependencies']
  const changed: Fields = {
    name,
    version,
    ...(dependencies.size === 0 ? {} : { dependencies: objectOf(dependencies) }),
    ...(optional.size === 0 ? {} : { optionalDependencies: objectOf(optional) }),
    ...(commands.size === 0 ? {} : { bin: objectOf(commands) }),
    ...(bundled === undefined ? {} : { bundleDependencies: bundled }),
    ...(installScriptsOf(json, paths).size === 0 ? {} : { hasInstallScript: true }),
    ...(paths.includes('npm-shrinkwrap.json') ? { _hasShrinkwrap: true } : {}),
    _id: `${name}@${version}`,
  }
  const dropped = new Set([
    ...OURS,
    ...Object.keys(changed),
    'dependencies',
    'optionalDependencies',
    'bin',
    'bundledDependencies',
  ])
  const full = objectOf([
    ...Object.entries(changed),
    ...Object.entries(json).filter(([key]) => !dropped.has(key) && !key.startsWith('_')),
  ])
  return printBoth(full)
}

/** What is long and in no version that another registry lists needed here. */
const LEFT_OUT = new Set([...OURS, 'name', 'version', 'readme', 'readmeFilename'])

/**
 * The same of a version that another registry lists, from what it says of it. Nothing is refused: what came with the
 * bytes is compared when they come.
 */
export function documentsFrom(
  said: Fields,
  { name, version }: Pick<PackageIdentity, 'name' | 'version'>,
): VersionDocuments {
  const hasScript = said['hasInstallScript'] === true || installScriptsOf(said, []).size > 0
  return printBoth(
    objectOf([
      ['name', name],
      ['version', version],
      ...(hasScript ? [['hasInstallScript', true] as const] : []),
      ...(said['_hasShrinkwrap'] === true ? [['_hasShrinkwrap', true] as const] : []),
      ['_id', `${name}@${version}`],
      ...Object.entries(said).filter(([key]) => !LEFT_OUT.has(key) && !key.startsWith('_')),
    ]),
  )
}
