import { listCarriedTags, listTagNames, type CarriedTagRow } from '../../catalog/queries/carried-registries.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import {
  keyOfMark,
  keyOfRow,
  MOST_TAGS_OF_NAME,
  type BundledWords,
  type CarriedMark,
  type Receipt,
} from './manifest.ts'
import type { Known, Published } from './published.ts'

/** Tags and marks that a site is taken to have; undefined: nothing is known of them. */
export interface WordsThere {
  /** The version of each, by `keyOfTag`. */
  readonly tags: ReadonlyMap<string, string>
  /** The tags that came from here, by `keyOfName`; undefined: it does not say which. */
  readonly brought: ReadonlyMap<string, readonly string[]> | undefined
  /** By `keyOfRow`. */
  readonly marks: ReadonlyMap<string, CarriedMark>
}

const keyOfTag = (...parts: readonly string[]): string => parts.join(' ')

/** `keyOfTag` of the parts before the tag. */
const tagsByName = (rows: readonly (readonly [string, string, string, string])[]): Map<string, string[]> => {
  const found = new Map<string, string[]>()
  for (const [format, codename, name, tag] of rows) {
    const key = keyOfTag(format, codename, name)
    found.set(key, [...(found.get(key) ?? []), tag])
  }
  return found
}

/** What a receipt says of tags and marks; undefined where it is of a release that did not know them. */
export const wordsIn = (receipt: Receipt | undefined): WordsThere | undefined =>
  receipt?.tags === undefined
    ? undefined
    : {
        tags: new Map(
          receipt.tags.map(([format, codename, name, tag, version]) => [
            keyOfTag(format, codename, name, tag),
            version,
          ]),
        ),
        brought: receipt.brought_tags && tagsByName(receipt.brought_tags),
        marks: new Map((receipt.marks ?? []).map(({ ref, mark }) => [keyOfRow(ref), mark])),
      }

/** A tag of something that is published. */
export type HereTag = Omit<CarriedTagRow, 'at'> & { readonly at: Date }

/** The tags of what is published in these registries: also those that a version got when it was approved. */
export async function tagsHere({ db }: Known, all: readonly Published[]): Promise<readonly HereTag[]> {
  const registries = [...new Set(all.filter(({ words }) => words !== undefined).map(({ ref }) => ref[1]))]
  if (registries.length === 0) return []
  const published = new Set(
    all.map(({ ref: [format, codename, name, version] }) => keyOfTag(format, codename, name, version)),
  )
  const newest = new Map<string, HereTag>()
  const offer = (one: HereTag): void => {
    const key = keyOfTag(one.format, one.codename, one.name, one.tag)
    if (!published.has(keyOfTag(one.format, one.codename, one.name, one.version))) return
    if ((newest.get(key)?.at.getTime() ?? -Infinity) < one.at.getTime()) newest.set(key, one)
  }
  for (const one of await listCarriedTags(db, ALL_SEEING, registries)) offer(one)
  for (const { ref, words } of all)
    for (const tag of words?.wanted_tags ?? [])
      offer({
        ...{ format: ref[0], codename: ref[1], name: ref[2], version: ref[3], tag },
        at: words?.created_at ?? new Date(0),
      })
  return [...newest.values()]
}

/** Every tag of each name of these registries, by format, codename and name. */
export async function tagNamesHere({ db }: Known, all: readonly Published[]): Promise<ReadonlyMap<string, string[]>> {
  const registries = [...new Set(all.filter(({ words }) => words !== undefined).map(({ ref }) => ref[1]))]
  const rows = registries.length === 0 ? [] : await listTagNames(db, ALL_SEEING, registries)
  return tagsByName(rows.map(({ format, codename, name, tag }) => [format, codename, name, tag]))
}

/** What is said of a version here. */
const markOf = ({ words }: Published): CarriedMark => ({
  ...(words?.deprecated ? { deprecated: words.deprecated.slice(0, 1_000) } : {}),
  ...(words?.yanked ? { yanked: { reason: words.yanked.reason.slice(0, 1_000) } } : {}),
})
const NO_MARK = keyOfMark({})

/** What goes along, and the names whose oldest tags stay behind. */
export interface Words extends Required<BundledWords> {
  readonly cut: readonly string[]
  /** How many tags that came from here the site has, and that are gone here. */
  readonly gone: number
}

/** The whole set of tags of each name that has some, here or at the site. @param versions  places by `keyOfTag` */
function setsFor(
  versions: ReadonlyMap<string, number>,
  names: ReadonlyMap<string, readonly string[]>,
  { there, without }: { readonly there: WordsThere | undefined; readonly without: ReadonlySet<string> },
): { readonly sets: NonNullable<BundledWords['sets']>; readonly gone: number } {
  const sets = new Map<string, { of: number; tags: string[] }>()
  let gone = 0
  for (const [version, of] of versions) {
    const name = version.slice(0, version.lastIndexOf(' '))
    const [here, had] = [names.get(name) ?? [], there?.brought?.get(name) ?? []]
    if (sets.has(name) || without.has(name) || here.length + had.length === 0) continue
    sets.set(name, { of, tags: [...here] })
    gone += had.filter(tag => !here.includes(tag)).length
  }
  return { sets: [...sets.values()], gone }
}

/**
 * Tags and marks of these versions that the site does not have so.
 * @param tags  what they are named by; `names`: every tag of each name, also those that name something else
 * @param places  of versions in the list of the bundle, by `keyOfRow`
 * @param going  how many of the places are of versions that go along
 */
export function wordsFor(
  wanted: readonly Published[],
  { tags, names }: { readonly tags: readonly HereTag[]; readonly names: ReadonlyMap<string, readonly string[]> },
  {
    places,
    going,
    there,
  }: { readonly places: ReadonlyMap<string, number>; readonly going: number; readonly there: WordsThere | undefined },
): Words {
  const versions = new Map<string, number>()
  const marks: BundledWords['marks'] = []
  for (const one of wanted.filter(({ words }) => words !== undefined)) {
    const of = places.get(keyOfRow(one.ref))
    if (of === undefined) continue
    const [format, codename, name, version] = one.ref
    versions.set(keyOfTag(format, codename, name, version), of)
    const mark = markOf(one)
    const had = of < going ? undefined : there?.marks.get(keyOfRow(one.ref))
    if (keyOfMark(mark) !== (had === undefined ? NO_MARK : keyOfMark(had))) marks.push({ of, mark })
  }
  const chosen = tags.flatMap(one => {
    const { format, codename, name, tag, version, at } = one
    const of = versions.get(keyOfTag(format, codename, name, version))
    if (of === undefined || there?.tags.get(keyOfTag(format, codename, name, tag)) === version) return []
    return [{ of, tag, at, name: keyOfTag(format, codename, name) }]
  })
  const cut: string[] = []
  const kept = [...Map.groupBy(chosen, ({ name }) => name)].flatMap(([name, list]) => {
    if (list.length <= MOST_TAGS_OF_NAME) return list
    cut.push(name)
    return list.toSorted((a, b) => b.at.getTime() - a.at.getTime()).slice(0, MOST_TAGS_OF_NAME)
  })
  const { sets, gone } = setsFor(versions, names, { there, without: new Set(cut) })
  return { tags: kept.map(({ of, tag, at }) => ({ of, tag, at: at.toISOString() })), marks, sets, cut, gone }
}
