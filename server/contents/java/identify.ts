import type { Found } from '../reader.ts'
import { candidatesOf, type NamedBy } from './candidates.ts'
import type { Coordinates, Release } from './coordinates.ts'
import { JAVA_ENDING } from './file-name.ts'
import { isKnownLog4j, type Log4j } from './log4j.ts'
import { manifestVersion } from './manifest.ts'

/** Coordinates that a file in the jar says. */
export interface Stated extends Release {
  readonly rule: 'pom-properties' | 'pom-xml' | 'version-file'
  /** The file in the jar. */
  readonly entry: string
}

/** What was read of a jar. */
export interface Jar extends NamedBy {
  readonly path: string
  readonly stated: readonly Stated[]
  /** Whose files have its SHA-1. */
  readonly releases: readonly Release[]
  readonly log4j: readonly Log4j[]
}

const maven = ({ group, artifact }: Coordinates) => ({ type: 'maven', namespace: group, name: artifact }) as const
const key = ({ group, artifact }: Coordinates): string => `${group}:${artifact}`

/** `1.55` and `1.55.0`, `5.0.0.Final` and `5.0`: one version in two spellings. */
const spelled = (version: string): string =>
  version
    .toLowerCase()
    .replace(/[.-](?:final|release|ga)$/, '')
    .replace(/(?:\.0)+(?=$|[.-][a-z])/, '')
    .replace(/[.-]/g, '-')
const isSame = (a: string, b: string): boolean => spelled(a) === spelled(b)

/** The version in the file name, where the file is called by this artifact. */
const versionInName = ({ name }: Jar, artifact: string): string | undefined =>
  name.parts.find(part => part.name.toLowerCase() === artifact.toLowerCase() && part.version !== undefined)?.version

/** What pom files in it say; and the version in its name, where that differs from the pom of the same artifact. */
function byFiles(jar: Jar): Found[] {
  return jar.stated.flatMap(one => {
    const inName = versionInName(jar, one.artifact)
    const found: Found = {
      ...maven(one),
      version: one.version,
      presence: 'shipped',
      rule: one.rule,
      confidence: 'certain',
      path: `${jar.path}!/${one.entry}`,
    }
    return inName === undefined || isSame(inName, one.version) || /snapshot/i.test(one.version)
      ? [found]
      : [found, { ...maven(one), version: inName, presence: 'shipped', rule: 'file-name', confidence: 'probable' }]
  })
}

/** What its manifest and its name say. Versions that differ are both asked about, the one in the file name first. */
function byNames(jar: Jar): Found[] {
  const inManifest = manifestVersion(jar.manifest)
  return candidatesOf(jar).flatMap(({ group, artifact, rule, confidence, version }): Found[] => {
    const said = [version, versionInName(jar, artifact), inManifest].filter(one => one !== undefined)
    const versions = said.filter((one, at) => said.findIndex(other => isSame(other, one)) === at)
    const base = { ...maven({ group, artifact }), presence: 'shipped', rule } as const
    if (versions.length === 0) return [{ ...base, version: undefined, confidence }]
    return versions.map((one, at) => ({ ...base, version: one, confidence: at === 0 ? confidence : 'probable' }))
  })
}

const LOG4J: Coordinates = { group: 'org.apache.logging.log4j', artifact: 'log4j-core' }
const isLog4j = (one: Found): boolean => one.namespace === LOG4J.group && one.name === LOG4J.artifact

/** The classes of log4j-core: they name it where nothing else does, and contradict a pom that is of another release. */
function withLog4j(jar: Jar, found: readonly Found[]): Found[] {
  const others = found.filter(one => !isLog4j(one) || one.version !== undefined)
  const versions = others.filter(isLog4j).flatMap(({ version }) => version ?? [])
  const copies = jar.log4j.filter(({ isExact, versions: mine }) =>
    versions.length === 0 ? true : isExact && !versions.some(one => mine.includes(one) || !isKnownLog4j(one)),
  )
  const closed = jar.log4j.length > 0 && jar.log4j.every(({ hasJndiLookup }) => !hasJndiLookup)
  const all: Found[] = [
    ...others,
    ...copies.map(({ folder, version, isExact }) => ({
      ...maven(LOG4J),
      version,
      presence: 'shipped' as const,
      rule: 'classes',
      confidence: isExact ? ('certain' as const) : ('probable' as const),
      path: `${jar.path}!/${folder}`,
    })),
  ]
  return closed ? all.map(one => (isLog4j(one) ? { ...one, cleared: NO_LOOKUP } : one)) : all
}

/** Source: https://logging.apache.org/security.html, CVE-2021-44228, "Mitigation" */
const NO_LOOKUP = {
  ids: ['CVE-2021-44228', 'CVE-2021-45046'],
  why: 'Its class JndiLookup is not in this copy.',
} as const

/** A jar with code and without coordinates is listed by its file name alone. */
function byFileName({ path, name, folders }: Jar): Found[] {
  const [part] = name.parts
  if (!JAVA_ENDING.test(path) || part === undefined || (part.version === undefined && folders.size === 0)) return []
  return [
    {
      type: 'generic',
      name: part.name,
      version: part.version,
      presence: 'shipped',
      rule: 'file-name',
      confidence: 'probable',
      unasked: 'Nothing in it says under which coordinates it is published.',
    },
  ]
}

/**
 * The components that a jar is and holds, by order of trust: its SHA-1, the poms in it, names in its manifest, its file
 * name, its classes. Sources that differ are all there. A component is named once for each version.
 */
export function identify(jar: Jar): Found[] {
  const byDigest = jar.releases.map((one): Found => ({
    ...maven(one),
    version: one.version,
    presence: 'shipped',
    rule: 'sha1',
    confidence: 'certain',
  }))
  const stated = byFiles(jar)
  const isStated = new Set([...jar.stated, ...jar.releases].map(key))
  // its own pom, or what only has its digest, says more than names do
  const isOwn = jar.stated.some(({ artifact }) => jar.name.parts.some(part => part.name === artifact))
  const named =
    byDigest.length > 0 || isOwn
      ? []
      : byNames(jar).filter(({ namespace = '', name }) => !isStated.has(`${namespace}:${name}`))
  const known = withLog4j(jar, [...byDigest, ...stated, ...named])
  const seen = new Set<string>()
  const found = (known.length > 0 ? known : byFileName(jar)).filter(({ namespace, name, version }) => {
    const id = `${namespace ?? ''}:${name}:${version ?? ''}`
    return !seen.has(id) && seen.add(id)
  })
  const { without } = jar.name
  return without === undefined || jar.folders.size > 0
    ? found
    : found.map(one => ({ ...one, unasked: `It holds ${without}, and no code of the library.` }))
}
