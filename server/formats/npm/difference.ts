import { isFields, type Fields } from '../../lib/fields.ts'
import { quote } from '../../lib/limited.ts'
import { readBundled, readDependencies } from './dependencies.ts'
import { commandsOf, installScriptsOf } from './documents.ts'
import { cleanVersion } from './version.ts'

/** The fields of a package.json that name what is installed with it: the needs of its development are not. */
const DEPENDENCY_FIELDS = ['dependencies', 'optionalDependencies', 'peerDependencies'] as const

const show = (value: string | undefined): string => (value === undefined ? 'nothing' : quote(value))

type Texts = ReadonlyMap<string, string>

/**
 * The first thing that matters to who installs in which a manifest differs from the package.json of the tarball;
 * undefined where none does. What npm writes out before it sends (an optional dependency among the others, one command
 * as a text, `node-gyp rebuild`) is no difference.
 * @param about.paths  the files of the tarball; `said`: where the manifest stands, for the sentence: `the request`
 * @throws Malformed where the manifest cannot be read
 */
export function differenceFrom(
  inside: Fields,
  outside: Fields,
  { paths, said: place }: { readonly paths: readonly string[]; readonly said: string },
): string | undefined {
  const differ = (what: string, is: string | undefined, other: string | undefined): string =>
    `${what} is ${show(is)} in the tarball and ${show(other)} in ${place}`
  const differenceOf = (field: string, a: Texts, b: Texts): string | undefined => {
    const name = [...new Set([...a.keys(), ...b.keys()])].find(one => a.get(one) !== b.get(one))
    return name === undefined ? undefined : differ(`${field}: ${quote(name)}`, a.get(name), b.get(name))
  }
  if (outside['name'] !== inside['name']) return differ('the name', String(inside['name']), String(outside['name']))
  const [is, said] = [inside, outside].map(({ version }) =>
    typeof version === 'string' ? cleanVersion(version) : undefined,
  )
  if (is !== said) return differ('the version', is, said)
  for (const field of DEPENDENCY_FIELDS) {
    const optional = new Set(
      field === 'dependencies'
        ? [inside, outside].flatMap(one => [...readDependencies(one, 'optionalDependencies').keys()])
        : [],
    )
    const [a, b] = [inside, outside].map(
      one => new Map([...readDependencies(one, field)].filter(([name]) => !optional.has(name))),
    )
    const difference = differenceOf(field, a ?? new Map(), b ?? new Map())
    if (difference !== undefined) return difference
  }
  const names = (set: ReadonlySet<string>): ReadonlyMap<string, string> =>
    new Map([...set].map(one => [one, 'bundled']))
  const bundles = differenceOf('bundleDependencies', names(readBundled(inside)), names(readBundled(outside)))
  if (bundles !== undefined) return bundles
  // a request may leave commands out that npm makes from the files
  const asked = isFields(outside['bin']) || typeof outside['bin'] === 'string'
  return (
    differenceOf('scripts', installScriptsOf(inside, paths), installScriptsOf(outside, paths)) ??
    (asked || inside['bin'] !== undefined
      ? differenceOf('bin', commandsOf(inside, paths), commandsOf(outside, paths))
      : undefined)
  )
}
