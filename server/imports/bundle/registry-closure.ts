import { listRegistryNeeds } from '../../catalog/queries/carried-registries.ts'
import type { PackageIdentity } from '../../core/identity.ts'
import type { Alternatives } from '../../core/relation.ts'
import { digestInTag } from '../../core/signature-types.ts'
import type { Format } from '../../formats/format.ts'
import { resolveNeeds } from '../../pipeline/registry-needs.ts'
import { keyOfRow, type RefRow } from './manifest.ts'
import type { Known, Providers, Published } from './published.ts'

/**
 * What versions of registries need of others in the same registry: ranges, and of images the manifests that an index
 * names. What is about an image, such as its signature, comes with it.
 */

const AT_ONCE = 500
const nameKey = ([format, codename, name]: RefRow): string => `${format} ${codename} ${name}`

/** A tag of a version that is published. */
export interface PublishedTag {
  readonly tag: string
  readonly version: string
}
/** The tags of a name, by `nameKeyOfRow`. */
export type TagsOf = (nameKey: string) => readonly PublishedTag[]

/** Versions by their registry and name. */
const byName = (all: readonly Published[]): ReadonlyMap<string, readonly Published[]> =>
  Map.groupBy(all, ({ ref }) => nameKey(ref))

/** Whether a version is one of a registry. */
export const isOfRegistry = ({ words }: Pick<Published, 'words'>): boolean => words !== undefined

async function needsOf(
  { db }: Known,
  some: readonly Published[],
  signal: AbortSignal,
): Promise<ReadonlyMap<number, readonly Alternatives[]>> {
  const found = new Map<number, readonly Alternatives[]>()
  for (let from = 0; from < some.length; from += AT_ONCE) {
    signal.throwIfAborted()
    const ids = some.slice(from, from + AT_ONCE).map(({ id }) => id)
    for (const { id, depends } of await listRegistryNeeds(db, ids)) found.set(id, depends)
  }
  return found
}

/** The digests of its own name that a version is made of or is about. */
const digestsIn = ({ words }: Published): readonly string[] => [
  ...(words?.parts ?? []),
  ...(words?.subject ? [words.subject] : []),
]

/** Which of the versions of a name these are: all files of each. */
const ofVersions = (list: readonly Published[] | undefined, versions: ReadonlySet<string>): readonly Published[] =>
  (list ?? []).filter(({ ref }) => versions.has(ref[3]))

/** Which of these versions meet the needs of those that go. */
export async function registryProviders(
  known: Known,
  { going, among }: { readonly going: readonly Published[]; readonly among: readonly Published[] },
  signal: AbortSignal,
): Promise<Providers> {
  const some = going.filter(isOfRegistry)
  const names = byName(among)
  const needs = await needsOf(known, some, signal)
  const found = new Map<number, readonly (readonly RefRow[])[]>()
  for (const one of some) {
    const [formatId, codename, name] = one.ref
    const format = known.formatOf(formatId)
    const own = nameKey(one.ref)
    const lists = (needs.get(one.id) ?? []).map(need =>
      need.flatMap(relation =>
        relation.name === name
          ? []
          : (names.get(`${formatId} ${codename} ${relation.name}`) ?? [])
              .filter(({ ref }) => format.satisfies({ name: ref[2], version: ref[3], arch: ref[4] }, relation))
              .map(({ ref }) => ref),
      ),
    )
    const digests = digestsIn(one).map(digest => ofVersions(names.get(own), new Set([digest])).map(({ ref }) => ref))
    found.set(
      one.id,
      [...lists, ...digests].filter(list => list.length > 0),
    )
  }
  return found
}

/** What a client would take for each need: the newest version that fits all needs for its name, else of each alone. */
function chosenOf(
  needs: readonly Alternatives[],
  served: ReadonlyMap<string, readonly string[]>,
  how: { readonly format: Format; readonly own: PackageIdentity },
): readonly (readonly [name: string, version: string])[] {
  const { chosen } = resolveNeeds(needs, served, how)
  const whole = chosen.filter(({ isServed }) => isServed)
  const met = new Set(whole.map(({ name }) => name))
  const rest = needs.filter(need => !need.some(({ name }) => met.has(name)))
  const single = rest.flatMap(need => resolveNeeds([need], served, how).chosen.filter(({ isServed }) => isServed))
  return [...whole, ...single].map(({ name, version }) => [name, version])
}

/** These versions and everything in their registries that they need: of each that meets a need the newest that fits. */
export async function registryClosure(
  known: Known,
  {
    all,
    roots,
    tagsOf,
  }: { readonly all: readonly Published[]; readonly roots: readonly Published[]; readonly tagsOf: TagsOf },
  signal: AbortSignal,
): Promise<readonly Published[]> {
  const names = byName(all.filter(isOfRegistry))
  const about = Map.groupBy(all, ({ ref, words }) => (words?.subject ? `${nameKey(ref)} ${words.subject}` : ''))
  /** What says by its tag that it is about a digest, as signatures of cosign. */
  const taggedAbout = (one: Published): readonly Published[] => {
    const versions = tagsOf(nameKey(one.ref)).filter(({ tag }) => digestInTag(tag) === one.ref[3])
    return ofVersions(names.get(nameKey(one.ref)), new Set(versions.map(({ version }) => version)))
  }
  const taken = new Map<string, Published>()
  let front = roots.filter(isOfRegistry)
  while (front.length > 0) {
    for (const one of front) taken.set(keyOfRow(one.ref), one)
    const needs = await needsOf(known, front, signal)
    const next = new Map<string, Published>()
    for (const one of front) {
      const [formatId, codename, name, version, arch] = one.ref
      const format = known.formatOf(formatId)
      const listOf = (other: string) => names.get(`${formatId} ${codename} ${other}`)
      const depends = needs.get(one.id) ?? []
      const wanted = new Set(depends.flat().map(relation => relation.name))
      const served = new Map(
        [...wanted].map(other => [other, [...new Set((listOf(other) ?? []).map(({ ref }) => ref[3]))]]),
      )
      const own: PackageIdentity = { format: format.id, name, version, arch }
      const found = [
        ...chosenOf(depends, served, { format, own }).flatMap(([other, chosen]) =>
          ofVersions(listOf(other), new Set([chosen])),
        ),
        // the other files of the version, as wheels for other machines
        ...ofVersions(listOf(name), new Set([version, ...digestsIn(one)])),
        ...(about.get(`${nameKey(one.ref)} ${version}`) ?? []),
        ...taggedAbout(one),
      ]
      for (const other of found) if (!taken.has(keyOfRow(other.ref))) next.set(keyOfRow(other.ref), other)
    }
    front = [...next.values()]
  }
  return [...taken.values()]
}

/** What somebody means by a name: all of it, or one version or tag of it. */
interface Asked {
  readonly name: string
  /** What follows `@` or `:`. */
  readonly version?: string
}

/** `@ours/lib@1.0.0`, `app/web:1.2`; a name may have both signs in it, so first it is one without anything behind. */
export function readings(text: string): readonly Asked[] {
  const at = text.lastIndexOf('@')
  const colon = text.lastIndexOf(':')
  return [
    { name: text },
    ...(at > 0 ? [{ name: text.slice(0, at), version: text.slice(at + 1) }] : []),
    ...(colon > 0 ? [{ name: text.slice(0, colon), version: text.slice(colon + 1) }] : []),
  ]
}

/**
 * What is meant by one text among versions of registries: the newest release of a name and what its tags name; of
 * images, whose versions have no order, what tags name, or all. With `@version` or `:tag` that one alone.
 */
export function namedIn(known: Known, all: readonly Published[], tagsOf: TagsOf, text: string): readonly Published[] {
  for (const { name, version } of readings(text)) {
    const lists = [...byName(all.filter(one => isOfRegistry(one) && one.ref[2] === name))]
    const found = lists.flatMap(([key, list]) => {
      const format = known.formatOf(list[0]?.ref[0] ?? '')
      const tags = tagsOf(key)
      if (version !== undefined) {
        const tagged = tags.filter(({ tag }) => tag === version).map(one => one.version)
        return ofVersions(list, new Set([version, ...tagged]))
      }
      const isOrdered = format.partsOf === undefined
      const releases = list.filter(({ ref }) => format.isPreRelease?.(ref[3]) !== true)
      const newest = (releases[0] ?? list[0])?.ref[3] ?? ''
      const tagged = new Set([...(isOrdered ? [newest] : []), ...tags.map(one => one.version)])
      return tagged.size === 0 ? list : ofVersions(list, tagged)
    })
    if (found.length > 0) return found
  }
  return []
}

export const nameKeyOfRow = nameKey
