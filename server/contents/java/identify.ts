import type { Found } from '../reader.ts'
import { candidatesOf, evidenceOf, type Candidate, type NamedBy } from './candidates.ts'
import { isCalled, NO_NAMES, type Coordinates, type NameParts, type Release } from './coordinates.ts'
import { JAVA_ENDING, type JarName } from './file-name.ts'
import { isKnownLog4j, type Log4j } from './log4j.ts'
import { manifestVersion, type Manifest } from './manifest.ts'

/** Coordinates that a file in the jar says. */
export interface Stated extends Release {
  readonly rule: 'pom-properties' | 'pom-xml' | 'version-file' | 'manifest-section'
  /** The file in the jar. */
  readonly entry: string
}

/** What was read of a jar. */
export interface Jar extends Pick<NamedBy, 'manifest' | 'folders'> {
  readonly path: string
  readonly name: JarName
  readonly stated: readonly Stated[]
  readonly log4j: readonly Log4j[]
  /** In hex, computed where it matters; undefined for a file that is too large to be in an index. */
  sha1(): Promise<string | undefined>
}

export const maven = ({ group, artifact }: Coordinates) =>
  ({ type: 'maven', namespace: group, name: artifact }) as const
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
const versionInName = (parts: readonly NameParts[], coordinates: Coordinates): string | undefined =>
  parts.find(part => part.version !== undefined && isCalled(part.name, coordinates))?.version

/** What pom files in it say; and the version in its name, where that differs from the pom of the same artifact. */
function byFiles({ path, name, stated }: Jar): Found[] {
  return stated.flatMap(one => {
    const inName = versionInName(name.parts, one)
    const found: Found = {
      ...maven(one),
      version: one.version,
      presence: 'shipped',
      rule: one.rule,
      confidence: 'certain',
      path: `${path}!/${one.entry}`,
    }
    const isSure = one.rule === 'manifest-section' || inName === undefined || isSame(inName, one.version)
    return isSure || /snapshot/i.test(one.version)
      ? [found]
      : [found, { ...maven(one), version: inName, presence: 'shipped', rule: 'file-name', confidence: 'probable' }]
  })
}

/** Components for candidates. Versions that differ are both asked about, the one in the file name first. */
export function foundBy(
  candidates: readonly Candidate[],
  { parts, manifest }: { readonly parts: readonly NameParts[]; readonly manifest: Manifest },
): Found[] {
  const inManifest = manifestVersion(manifest)
  return candidates.flatMap(({ group, artifact, rule, confidence, version }): Found[] => {
    const said = [version, versionInName(parts, { group, artifact }), inManifest].filter(one => one !== undefined)
    const versions = said.filter((one, at) => said.findIndex(other => isSame(other, one)) === at)
    const base = { ...maven({ group, artifact }), presence: 'shipped', rule } as const
    if (versions.length === 0) return [{ ...base, version: undefined, confidence }]
    return versions.map((one, at) => ({ ...base, version: one, confidence: at === 0 ? confidence : 'probable' }))
  })
}

const LOG4J: Coordinates = { group: 'org.apache.logging.log4j', artifact: 'log4j-core' }
const isLog4j = (one: Found): boolean => one.namespace === LOG4J.group && one.name === LOG4J.artifact

/** Source: https://logging.apache.org/security.html, CVE-2021-44228, "Mitigation" */
const NO_LOOKUP = {
  ids: ['CVE-2021-44228', 'CVE-2021-45046'],
  why: 'Its class JndiLookup is not in this copy.',
} as const

/** The classes of log4j-core: they name it where nothing else does, and contradict a pom that is of another release. */
function withLog4j(jar: Jar, found: readonly Found[]): Found[] {
  if (jar.log4j.length === 0) return [...found]
  const others = found.filter(one => !isLog4j(one) || one.version !== undefined)
  const versions = others.filter(isLog4j).flatMap(({ version }) => version ?? [])
  const copies = jar.log4j.filter(({ isExact, versions: mine }) =>
    versions.length === 0 ? true : isExact && !versions.some(one => mine.includes(one) || !isKnownLog4j(one)),
  )
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
  const isClosed = jar.log4j.every(({ hasJndiLookup }) => !hasJndiLookup)
  return isClosed ? all.map(one => (isLog4j(one) ? { ...one, cleared: NO_LOOKUP } : one)) : all
}

/** A jar without coordinates is listed by its file name alone. */
function unnamed({ name, folders, stated }: Jar): Found[] {
  const [part] = name.parts
  if (part === undefined || (part.version === undefined && folders.size === 0 && stated.length === 0)) return []
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

/** What the jar itself is, apart from its parts, with what is needed to look again with the loaded data. */
async function itself(jar: Jar): Promise<Found[]> {
  const named = { parts: jar.name.parts, manifest: jar.manifest, folders: jar.folders }
  const found = foundBy(candidatesOf({ ...named, names: NO_NAMES }), named)
  const [own, ...others] = found.length === 0 ? (JAVA_ENDING.test(jar.path) ? unnamed(jar) : []) : found
  return own === undefined ? [] : [{ ...own, jar: evidenceOf(named, await jar.sha1()) }, ...others]
}

/**
 * The components that a jar is and holds, by order of trust: the poms in it, names in its manifest, its file name, its
 * classes. Sources that differ are all there. A component is named once for each version. Where it has no pom of its
 * own, `jar` has what the loaded data are asked with, its SHA-1 first.
 */
export async function identify(jar: Jar): Promise<Found[]> {
  const isStated = new Set(jar.stated.map(key))
  const isOwn = jar.stated.some(
    one => one.rule === 'manifest-section' || jar.name.parts.some(part => isCalled(part.name, one)),
  )
  // one pom and no other name: a renamed jar
  const own = isOwn ? [] : (await itself(jar)).filter(one => !isStated.has(`${one.namespace ?? ''}:${one.name}`))
  const isRenamed = jar.stated.length === 1 && own.every(({ type }) => type === 'generic')
  const found = withLog4j(jar, [...byFiles(jar), ...(isRenamed ? [] : own)])
  const seen = new Set<string>()
  const once = found.filter(({ namespace, name, version }) => {
    const id = `${namespace ?? ''}:${name}:${version ?? ''}`
    return !seen.has(id) && seen.add(id)
  })
  const { without } = jar.name
  if (without === undefined || jar.folders.size > 0) return once
  return once.map(({ jar: _, ...one }) => ({ ...one, unasked: `It holds ${without}, and no code of the library.` }))
}
