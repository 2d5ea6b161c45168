import { nativeProduct, nativeVersion } from '../core/native-products.ts'
import { parsePurl } from '../core/purl.ts'
import type { FoundIn } from '../core/findings.ts'
import type { EmbeddedPackage } from '../scanners/scanner.ts'
import type { Component, Contents } from './component.ts'
import { isOwn, NOBODYS, type Owner } from './ownership.ts'
import { isSystems, systemPackages } from './system/asked-system.ts'

/** The ecosystem of advisories for each type of package URL, and how advisories spell names in it. */
const ECOSYSTEMS: Readonly<
  Record<string, { readonly ecosystem: string; readonly joined: string; readonly version?: (text: string) => string }>
> = {
  npm: { ecosystem: 'npm', joined: '/' },
  pypi: { ecosystem: 'pypi', joined: '/' },
  maven: { ecosystem: 'maven', joined: ':' },
  golang: { ecosystem: 'go', joined: '/', version: text => text.replace(/^v/, '').replace(/\+incompatible$/, '') },
  cargo: { ecosystem: 'crates', joined: '/' },
  gem: { ecosystem: 'rubygems', joined: '/' },
  composer: { ecosystem: 'packagist', joined: '/' },
  nuget: { ecosystem: 'nuget', joined: '/' },
  pub: { ecosystem: 'pub', joined: '/' },
  hex: { ecosystem: 'hex', joined: '/' },
  hackage: { ecosystem: 'hackage', joined: '/' },
  cran: { ecosystem: 'cran', joined: '/' },
  swift: { ecosystem: 'swift', joined: '/' },
  // SBOMs name actions by either type
  githubactions: { ecosystem: 'actions', joined: '/' },
  github: { ecosystem: 'actions', joined: '/' },
}

/** Types of package URLs under which products in native code come. */
const NATIVE_TYPES: ReadonlySet<string> = new Set(['generic', 'conda', 'conan', 'vcpkg', 'bitnami'])

/** Ecosystems whose programs keep no list of what was built in, unless they were told to. */
const COMPILED: ReadonlySet<string> = new Set(['cargo', 'golang', 'hackage', 'pub', 'swift'])

/** What a package URL names, as advisories spell it; undefined where there are none for its type, or no version. */
export function askedAs(text: string, version = parsePurl(text)?.version): EmbeddedPackage | undefined {
  const purl = parsePurl(text)
  if (purl === undefined || version === undefined) return undefined
  const product = NATIVE_TYPES.has(purl.type) ? nativeProduct(purl.name) : undefined
  if (product !== undefined) {
    // `3.0.2-1`: the number of its build
    const own = purl.type === 'bitnami' ? version.replace(/-\d+$/, '') : version
    return { ecosystem: 'native', name: product, version: nativeVersion(product, own) }
  }
  const known = ECOSYSTEMS[purl.type]
  if (known === undefined) return undefined
  const { ecosystem, joined, version: spell = text => text } = known
  return {
    ecosystem,
    name: purl.namespace === undefined ? purl.name : `${purl.namespace}${joined}${purl.name}`,
    version: spell(version),
  }
}

/** The system that a file is for, by its name. */
const systemOf = (path: string): string =>
  /\.(?:dll|exe|pyd)$/i.test(path) ? 'windows' : /\.dylib$/.test(path) ? 'darwin' : 'linux'

/** A component as advisories spell it; undefined where none can be asked for. */
function spelled({ purl, version, unasked, cleared, path }: Component): EmbeddedPackage | undefined {
  const asked = version === undefined || unasked !== undefined ? undefined : askedAs(purl, version)
  if (asked === undefined) return undefined
  return {
    ...asked,
    ...(asked.ecosystem === 'native' ? { arch: systemOf(path) } : {}),
    ...(cleared === undefined ? {} : { cleared }),
  }
}

/** Where a component stands, for findings about it. */
const placeOf = ({ purl, path, rule, confidence, presence }: Component): FoundIn => ({
  purl,
  path,
  rule,
  confidence,
  presence,
})

const typeOf = ({ purl }: Component): string => purl.slice('pkg:'.length, purl.indexOf('/'))

/**
 * The components that advisories are asked about. Leaves out what is the distribution's own, since its advisories cover
 * that with versions that have its fixes in them, and what is only declared. A declaration counts for compiled programs
 * where none of them says what was built in.
 */
export function askedOf({ components, hasPrograms }: Contents, owner: Owner = NOBODYS): EmbeddedPackage[] {
  const named = new Set(components.filter(({ presence }) => presence === 'shipped').map(typeOf))
  const isThere = (component: Component): boolean => {
    const type = typeOf(component)
    return component.presence === 'shipped' || (hasPrograms === true && COMPILED.has(type) && !named.has(type))
  }
  const ofSystem = systemPackages(components)
  const isItsOwn = isSystems(components)
  return components.flatMap(component => {
    const isLeft = !isThere(component) || isOwn(component, owner) || isItsOwn(component)
    const asked = ofSystem(component) ?? (isLeft ? undefined : spelled(component))
    return asked === undefined ? [] : [{ ...asked, at: placeOf(component) }]
  })
}

/** Whether a finding was matched with this component. */
export function isMatchedBy(component: Component, matched: EmbeddedPackage): boolean {
  const asked = spelled(component)
  return asked?.ecosystem === matched.ecosystem && asked.name === matched.name && asked.version === matched.version
}
