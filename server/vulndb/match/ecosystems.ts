import { DEFAULT_DISTRIBUTIONS } from '../../core/default-distributions.ts'
import { OSV_LANGUAGES } from '../../core/osv-ecosystems.ts'
import type { Distribution, Repositories } from '../../core/repository.ts'
import type { OrderId } from '../versions/orders.ts'

/**
 * One release of a distribution, one language's packages, or native code, by its name in the compiled data:
 * `debian-12`, `pypi`, `native`.
 */
export type Ecosystem = string

/** What an ecosystem's advisories can and cannot say. */
export interface Family {
  readonly order: OrderId
  /** Language ecosystems join advisories by their aliases; distributions list CVEs. */
  readonly kind: 'distribution' | 'language'
  /** How a name is spelled in the tables. */
  readonly spell?: (name: string) => string
  /**
   * Its updates list builds: with module streams, kernel flavours, and an epoch that the header of their source lacks.
   */
  readonly listsBuilds?: true
}

const lowerCase = (name: string): string => name.toLowerCase()

const FAMILIES: Readonly<Record<string, Family>> = {
  debian: { order: 'deb', kind: 'distribution' },
  ubuntu: { order: 'deb', kind: 'distribution' },
  alpine: { order: 'apk', kind: 'distribution' },
  almalinux: { order: 'rpm', kind: 'distribution', listsBuilds: true },
  rocky: { order: 'rpm', kind: 'distribution', listsBuilds: true },
  redhat: { order: 'rpm', kind: 'distribution', listsBuilds: true },
  centos: { order: 'rpm', kind: 'distribution', listsBuilds: true },
  oracle: { order: 'rpm', kind: 'distribution', listsBuilds: true },
  amazon: { order: 'rpm', kind: 'distribution', listsBuilds: true },
  fedora: { order: 'rpm', kind: 'distribution', listsBuilds: true },
  opensuse: { order: 'rpm', kind: 'distribution', listsBuilds: true },
  npm: { order: 'semver', kind: 'language' },
  // PEP 503: https://peps.python.org/pep-0503/#normalized-names
  pypi: { order: 'pep440', kind: 'language', spell: name => name.toLowerCase().replace(/[-_.]+/g, '-') },
  maven: { order: 'maven', kind: 'language' },
  // package URLs have module paths in lower case
  go: { order: 'semver', kind: 'language', spell: lowerCase },
  crates: { order: 'semver', kind: 'language' },
  rubygems: { order: 'rubygems', kind: 'language' },
  packagist: { order: 'packagist', kind: 'language', spell: lowerCase },
  nuget: { order: 'nuget', kind: 'language', spell: lowerCase },
  pub: { order: 'pub', kind: 'language', spell: lowerCase },
  hex: { order: 'semver', kind: 'language', spell: lowerCase },
  hackage: { order: 'hackage', kind: 'language' },
  cran: { order: 'cran', kind: 'language' },
  // the address of the repository, which is the same in all its spellings
  swift: { order: 'semver', kind: 'language', spell: name => lowerCase(name).replace(/^https?:\/\/|\.git$/g, '') },
  actions: { order: 'semver', kind: 'language', spell: lowerCase },
  native: { order: 'native', kind: 'language' },
}

/** Products in C and C++, by the names in `core/native-products.ts`: no registry has them, the NVD's data do. */
export const NATIVE: Ecosystem = 'native'

/** The family of a compiled ecosystem, or undefined when this build does not know it. */
export function familyOf(ecosystem: Ecosystem): Family | undefined {
  const [family = ''] = ecosystem.split('-')
  return Object.hasOwn(FAMILIES, family) ? FAMILIES[family] : undefined
}

/** The name in the spelling of the tables. */
export function spellName(ecosystem: Ecosystem, name: string): string {
  return familyOf(ecosystem)?.spell?.(name) ?? name
}

const LANGUAGES: Readonly<Record<string, Ecosystem>> = OSV_LANGUAGES

/** Whatever packages can carry inside: languages, and native code. */
export const CARRIED: readonly Ecosystem[] = [...Object.values(OSV_LANGUAGES), NATIVE]

/**
 * OSV's names of distributions. Not here, so left out: Ubuntu:Pro (fixes that need a subscription), Red Hat's other
 * product streams (their releases are numbered differently), SUSE's own products, and names without a release. Source:
 * https://ossf.github.io/osv-schema/#defined-ecosystems
 */
const DISTRIBUTIONS: readonly (readonly [pattern: RegExp, ecosystem: (release: string) => Ecosystem])[] = [
  [/^Debian:(\d+)(?:\.0)?$/, release => `debian-${release}`],
  [/^Ubuntu:(\d+\.\d+)(?::LTS)?$/, release => `ubuntu-${release}`],
  [/^Alpine:v(\d+\.\d+)$/, release => `alpine-${release}`],
  [/^AlmaLinux:(\d+)$/, release => `almalinux-${release}`],
  [/^Rocky Linux:(\d+)$/, release => `rocky-${release}`],
  [/^Red Hat:enterprise_linux:(\d+)(?:\.\d+)?(?:::[a-z_]+)?$/, release => `redhat-${release}`],
  [/^openSUSE:Leap (\d+\.\d+)$/, release => `opensuse-leap-${release}`],
  [/^openSUSE:(Tumbleweed)$/, () => 'opensuse-tumbleweed'],
]

/** What people call an ecosystem: OSV's name of a language. */
export function labelOf(ecosystem: Ecosystem): string {
  if (ecosystem === NATIVE) return 'native code'
  return Object.entries(LANGUAGES).find(([, compiled]) => compiled === ecosystem)?.[0] ?? ecosystem
}

/** The compiled ecosystem for the name in an OSV record, or undefined when it is left out. */
export function readEcosystem(name: string): Ecosystem | undefined {
  // Maven and Packagist name the repository behind the ecosystem; names are the same in all repositories
  const [language = ''] = name.split(':')
  if (Object.hasOwn(LANGUAGES, language)) return LANGUAGES[language]
  if (language === 'OSS-Fuzz') return NATIVE
  for (const [pattern, ecosystem] of DISTRIBUTIONS) {
    const release = pattern.exec(name)?.[1]
    if (release !== undefined) return ecosystem(release)
  }
  return undefined
}

/**
 * Families of the scanner ids in `core/repository.ts` that are spelled differently here; CentOS Stream has no data
 * of its own.
 */
const SPELLED: Readonly<Record<string, string>> = {
  'centos': 'redhat',
  'opensuse.leap': 'opensuse-leap',
  'opensuse.tumbleweed': 'opensuse-tumbleweed',
}

/** Where a distribution's packages would be looked up that no engine knows: no advisory is ever kept under it. */
export const NOBODY: Ecosystem = 'none'

/** The ecosystem of each format of registries whose packages have advisories. */
const OF_REGISTRIES: Readonly<Record<string, Ecosystem>> = { npm: 'npm', pypi: 'pypi', maven: 'maven' }

/** A repository as its packages are looked up: a distribution by its scanner identifier, a registry by its format. */
export type LookedUp = Pick<Distribution, 'scanner'> & { readonly kind?: string; readonly format?: string }

/** Whether the packages of a repository are a language's own, whose advisories speak of upstream's versions. */
export const isOfLanguage = (repository: LookedUp): boolean =>
  familyOf(ecosystemOf(repository).ecosystem)?.kind === 'language'

/**
 * Where to find advisories for a repository's packages. `isBorrowed`: they belong to a relative, as RHEL's do for
 * CentOS Stream.
 */
export function ecosystemOf({ scanner, kind, format = '' }: LookedUp): {
  readonly ecosystem: Ecosystem
  readonly isBorrowed: boolean
} {
  if (kind === 'registry') return { ecosystem: OF_REGISTRIES[format] ?? NOBODY, isBorrowed: false }
  if (scanner === undefined) return { ecosystem: NOBODY, isBorrowed: false }
  const [family = '', release = ''] = scanner.split(':')
  const name = SPELLED[family] ?? family
  return { ecosystem: release === 'rolling' ? name : `${name}-${release}`, isBorrowed: name === 'redhat' }
}

/** The ecosystem of every distribution that has one, by codename: for an import, which runs in a thread of its own. */
export function ecosystemsOf({ all }: Pick<Repositories, 'all'>): Readonly<Record<string, Ecosystem>> {
  return Object.fromEntries(
    all()
      .filter(({ scanner }) => scanner !== undefined)
      .map(one => [one.codename, ecosystemOf(one).ecosystem]),
  )
}

/** What Debian's tracker calls its releases. `sid` and `trixie` onwards have no tree here, but cost nothing. */
const DEBIAN: Readonly<Record<string, string>> = {
  jessie: '8',
  stretch: '9',
  buster: '10',
  bullseye: '11',
  bookworm: '12',
  trixie: '13',
  forky: '14',
}

/** The ecosystem of a release by its codename, or undefined. */
export function debianRelease(codename: string): Ecosystem | undefined {
  return Object.hasOwn(DEBIAN, codename) ? `debian-${DEBIAN[codename]}` : undefined
}

/** What Ubuntu's VEX calls its releases. */
const UBUNTU: Readonly<Record<string, string>> = {
  trusty: '14.04',
  xenial: '16.04',
  bionic: '18.04',
  focal: '20.04',
  jammy: '22.04',
  noble: '24.04',
  plucky: '25.04',
  questing: '25.10',
  resolute: '26.04',
}

/** The ecosystem of a release by its codename, or undefined. */
export function ubuntuRelease(codename: string): Ecosystem | undefined {
  return Object.hasOwn(UBUNTU, codename) ? `ubuntu-${UBUNTU[codename]}` : undefined
}

/** The scanner identifiers whose packages are looked up in this ecosystem: of `redhat-9` both RHEL's and CentOS's. */
export function scannersOf(ecosystem: Ecosystem): readonly string[] {
  if (familyOf(ecosystem)?.kind !== 'distribution') return []
  const cut = ecosystem.lastIndexOf('-')
  const isWhole = cut < 0 || Object.values(SPELLED).includes(ecosystem)
  const [name, release] = isWhole ? [ecosystem, 'rolling'] : [ecosystem.slice(0, cut), ecosystem.slice(cut + 1)]
  const spelled = Object.keys(SPELLED).filter(family => SPELLED[family] === name)
  return [...(name.includes('-') ? [] : [name]), ...spelled].map(family => `${family}:${release}`)
}

/**
 * Every scanner identifier for which there is data, or a reader of data: those of the default set and Debian's other
 * releases, and what is loaded.
 */
export function listScanners(loaded: readonly Ecosystem[]): readonly string[] {
  const known = [
    ...DEFAULT_DISTRIBUTIONS.flatMap(({ scanner }) => scanner ?? []),
    ...Object.values(DEBIAN).map(release => `debian:${release}`),
    ...loaded.flatMap(scannersOf),
  ]
  return [...new Set(known)].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
}
