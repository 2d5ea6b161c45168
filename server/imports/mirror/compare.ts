import { listKnown } from '../../catalog/queries/known.ts'
import type { FormatId } from '../../core/identity.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import { listChanged } from '../run/changed.ts'
import type { Source } from '../source.ts'
import type { MirrorRule } from './rules.ts'
import { listGone, listWanted, type MirrorList } from './wanted.ts'

export const STANDINGS = ['new', 'newer', 'older', 'changed', 'gone'] as const

/** A package of a source that a distribution does not have, or the other way round. */
export interface MirrorDifference {
  readonly source_id: string
  readonly name: string
  readonly version: string
  readonly arch: string
  /** The newest version that is published here. */
  readonly here: string | null
  readonly standing: (typeof STANDINGS)[number]
}

export interface CompareOf {
  readonly codename: string
  /** Those that are mirrored into it. */
  readonly sources: readonly {
    readonly source: Source
    readonly rule: MirrorRule
    readonly lists: readonly MirrorList[]
  }[]
  readonly all: readonly Source[]
}

/**
 * What the next runs would bring into a distribution, what its sources list under the same version with other bytes,
 * and what came from them and is listed there no longer.
 */
export async function compareMirrored(
  db: Queryable,
  formatOf: (id: FormatId) => Format,
  { codename, sources, all }: CompareOf,
): Promise<MirrorDifference[]> {
  const newest = new Map<string, string>()
  for (const { name, arch, version, state } of await listKnown(db, ALL_SEEING, { codename }))
    if (state === 'published' && !newest.has(`${name} ${arch}`)) newest.set(`${name} ${arch}`, version)
  const siblings = all.filter(one => one.enabled && one.codenames.some(other => other === codename))
  const [own] = sources.flatMap(({ lists }) => lists).filter(one => one.codename === codename)
  // what one source lists with the bytes that are here has not changed, whatever another one lists
  const asked = { codename, sources: sources.map(({ source }) => source.id) }
  const changed = own === undefined ? [] : await listChanged(db, { ...asked, format: formatOf(own.format) })
  const found: MirrorDifference[] = []
  for (const { source, rule, lists } of sources) {
    for (const list of lists.filter(one => one.codename === codename)) {
      const format = formatOf(list.format)
      const of = {
        ...{ source, rule, list },
        sources: siblings.map(({ id }) => id),
        security: siblings.filter(({ security }) => security).map(({ id }) => id),
      }
      for (const { name, version, arch } of await listWanted(db, of, format)) {
        const here = newest.get(`${name} ${arch}`) ?? null
        const standing = here === null ? 'new' : format.compareVersions(version, here) > 0 ? 'newer' : 'older'
        found.push({ source_id: source.key, name, version, arch, here, standing })
      }
    }
    for (const { sourceKey, name, version, arch } of changed)
      if (sourceKey === source.key)
        found.push({ source_id: source.key, name, version, arch, here: version, standing: 'changed' })
    for (const one of await listGone(db, source, codename))
      found.push({
        source_id: source.key,
        ...one,
        here: newest.get(`${one.name} ${one.arch}`) ?? null,
        standing: 'gone',
      })
  }
  return found
}
