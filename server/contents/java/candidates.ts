import { artifactsNamed, homesOf } from './known-artifacts.ts'
import { bundleName, type Manifest } from './manifest.ts'
import { isCalled, type Coordinates, type JarEvidence, type JavaNames, type NameParts } from './coordinates.ts'

/** What a jar may be, by what is not its pom. */
export interface Candidate extends Coordinates {
  readonly rule: 'manifest-coordinates' | 'module-name' | 'bundle-name' | 'manifest-title' | 'file-name'
  readonly confidence: 'certain' | 'probable'
  /** Where the manifest gives one together with the coordinates. */
  readonly version?: string
}

export interface NamedBy {
  /** Every way to read its file name. */
  readonly parts: readonly NameParts[]
  readonly manifest: Manifest
  /** The names of all folders that hold classes. */
  readonly folders: ReadonlySet<string>
  readonly names: JavaNames
}

const key = ({ group, artifact }: Coordinates): string => `${group}:${artifact}`
const isToken = (text: string): boolean => /^[\w.+~-]{1,200}$/.test(text)

/** Plugins of Jenkins and bundles of NiFi say their coordinates themselves. */
function ownWords({ manifest }: NamedBy): Candidate[] {
  const read = (names: readonly string[]): Candidate[] => {
    const [group = '', artifact = '', said = ''] = names.map(name => manifest.get(name) ?? '')
    const version = said.split(' ')[0] ?? ''
    return [group, artifact, version].every(isToken)
      ? [{ group, artifact, version, rule: 'manifest-coordinates', confidence: 'certain' }]
      : []
  }
  return [...read(['nar-group', 'nar-id', 'nar-version']), ...read(['group-id', 'short-name', 'plugin-version'])]
}

// words that many projects use, so that sharing them says nothing
const COMMON = new Set(
  'com org net io edu de fr uk java javax jakarta apache google github sourceforge core api impl client server common commons util utils lib main base all jar project plugin'.split(
    ' ',
  ),
)

/** Whether classes lie where the ones of this artifact would: in a folder called as a word of its coordinates. */
function hasClassesOf({ group, artifact }: Coordinates, folders: ReadonlySet<string>): boolean {
  const words = `${group}.${artifact}`.toLowerCase().split(/[^a-z0-9]+/)
  return words.some(word => {
    const bare = word.replace(/\d+$/, '')
    return [word, bare].some(one => one.length > 1 && !COMMON.has(one) && folders.has(one))
  })
}

/** The coordinates under which an artifactId is known; the project's own before those who repackage it. */
function known(artifact: string, { folders, names }: NamedBy): Coordinates[] {
  const homes = homesOf(artifact)
  const groups = homes.length > 0 ? homes : names.groupsOf(artifact)
  const all = groups.map(group => ({ group, artifact }))
  const fitting = folders.size === 0 ? all : all.filter(one => hasClassesOf(one, folders))
  // one that many have taken over says nothing
  return fitting.length > 3 ? [] : fitting
}

/** Of several with one module name, those that the file name says, or the vendor; else all. */
function narrowed(all: readonly Coordinates[], { parts, manifest }: NamedBy): readonly Coordinates[] {
  const byFile = all.filter(one => parts.some(part => isCalled(part.name, one)))
  const left = byFile.length > 0 ? byFile : all
  if (new Set(left.map(({ artifact }) => artifact)).size > 1) return left
  const vendor = manifest.get('implementation-vendor-id')
  const byVendor = left.filter(({ group }) => group === vendor)
  return byVendor.length > 0 ? byVendor : left
}

/** By the names in its manifest, through the table of names. */
function byNames(jar: NamedBy): Candidate[] {
  const { manifest } = jar
  const said = [
    ['module-name', manifest.get('automatic-module-name') ?? ''],
    ['bundle-name', bundleName(manifest)],
    ['manifest-title', manifest.get('implementation-title') ?? ''],
    ['manifest-title', manifest.get('extension-name') ?? ''],
  ] as const
  for (const [rule, name] of said) {
    const found = narrowed(artifactsNamed(name), jar)
    if (found.length > 0)
      return found.map(one => ({ ...one, rule, confidence: found.length === 1 ? 'certain' : 'probable' }))
  }
  return []
}

/** What old projects of Apache gave as their vendor, whatever their group. */
const APACHE = 'org.apache'

/** By vendor and title, where one of them is an artifactId. */
function byTitle(jar: NamedBy): Candidate[] {
  const { manifest, parts, names } = jar
  const vendor = manifest.get('implementation-vendor-id') ?? ''
  const titles = ['implementation-title', 'extension-name', 'bundle-symbolicname']
    .map(field => manifest.get(field)?.split(';')[0] ?? '')
    .filter(isToken)
  const files = parts.map(part => part.name)
  const isKnown = (group: string, artifact: string): boolean =>
    homesOf(artifact).includes(group) || names.groupsOf(artifact).includes(group)
  for (const artifact of [...titles, ...files])
    if (isToken(vendor) && isKnown(vendor, artifact))
      return [{ group: vendor, artifact, rule: 'manifest-title', confidence: 'certain' }]
  for (const artifact of titles) {
    const found = known(artifact, jar)
    if (found.length > 0) return found.map(one => ({ ...one, rule: 'manifest-title', confidence: 'probable' }))
  }
  // what Maven writes by default: the group, and a title that the file is called by, `_2.12` behind it for Scala
  const isTitle = (file: string): boolean =>
    titles.some(
      title => file === title || (file.startsWith(`${title}_`) && /^\d[\d.]*$/.test(file.slice(title.length + 1))),
    )
  const said = vendor.includes('.') && vendor !== APACHE ? files.find(isTitle) : undefined
  return said === undefined ? [] : [{ group: vendor, artifact: said, rule: 'manifest-title', confidence: 'probable' }]
}

/** The known coordinates that a name is made of: `com.squareup.okhttp3.okhttp`. */
function withGroup(name: string, { names }: NamedBy): Coordinates[] {
  return [...name.matchAll(/\./g)]
    .map(({ index }) => ({ group: name.slice(0, index), artifact: name.slice(index + 1) }))
    .filter(({ group, artifact }) => homesOf(artifact).includes(group) || names.groupsOf(artifact).includes(group))
}

/** By its file name, read in the way that gives the longest artifactId that is known. */
function byFileName(jar: NamedBy): Candidate[] {
  for (const { name: artifact } of jar.parts.toSorted((a, b) => b.name.length - a.name.length)) {
    const found = [...withGroup(artifact, jar), ...known(artifact, jar)]
    if (found.length > 0) return found.map(one => ({ ...one, rule: 'file-name', confidence: 'probable' }))
  }
  return []
}

/**
 * What a jar is by its manifest and its name, best first. Where file name and manifest differ, both. No group is made
 * up: each is the manifest's own word, from the table of names, or known from the loaded data.
 */
export function candidatesOf(jar: NamedBy): Candidate[] {
  const best = [ownWords, byNames, byTitle].map(look => look(jar)).find(found => found.length > 0) ?? []
  const seen = new Set(best.map(key))
  // the same artifact under another group is a repackaged one
  const artifacts = new Set(best.map(({ artifact }) => artifact))
  return [...best, ...byFileName(jar).filter(one => !seen.has(key(one)) && !artifacts.has(one.artifact))]
}

const KEPT = [
  ...['automatic-module-name', 'bundle-symbolicname', 'bundle-version', 'extension-name'],
  ...['implementation-title', 'implementation-vendor-id', 'implementation-version'],
]
const MOST_FOLDERS = 300
const LONGEST = 200

/** What has to be kept of a jar to look again with other data. */
export function evidenceOf(
  { parts, manifest, folders }: Omit<NamedBy, 'names'>,
  sha1: string | undefined,
): JarEvidence {
  return {
    ...(sha1 === undefined ? {} : { sha1 }),
    parts,
    manifest: [...manifest].filter(([name, value]) => KEPT.includes(name) && value.length <= LONGEST),
    folders: [...folders].filter(folder => !COMMON.has(folder) && folder.length <= LONGEST).slice(0, MOST_FOLDERS),
  }
}

/** The candidates again, with the data of today. */
export const candidatesAgain = ({ parts, manifest, folders }: JarEvidence, names: JavaNames): Candidate[] =>
  candidatesOf({ parts, manifest: new Map(manifest), folders: new Set(folders), names })
