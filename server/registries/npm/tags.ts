import type { VersionRow } from '../../catalog/queries/registry-documents.ts'
import type { Tag } from '../../core/tag.ts'

/** The tag that clients install without being told a version. */
export const LATEST = 'latest'

type Row = Pick<VersionRow, 'version' | 'state' | 'created_at' | 'wanted_tags'>

/**
 * What the tags of a name are for clients. A tag never names what they do not get: one that a held version was
 * published with moves when that is approved, unless somebody moved it meanwhile. `latest` always names something that
 * is served: where what it named is gone, the highest release, else the highest prerelease.
 * @param rows  in the order of their versions, as the queries give them: the last is the highest
 */
export function tagsOf(rows: readonly Row[], tags: readonly Tag[]): ReadonlyMap<string, string> {
  const served = new Map(rows.filter(({ state }) => state === 'published').map(row => [row.version, row]))
  const found = new Map<string, { readonly version: string; readonly at: string }>()
  for (const { tag, version, at } of tags) if (served.has(version)) found.set(tag, { version, at })
  for (const { version, wanted_tags, created_at } of served.values()) {
    const at = created_at.toISOString()
    for (const tag of wanted_tags ?? []) if ((found.get(tag)?.at ?? '') < at) found.set(tag, { version, at })
  }
  const versions = [...served.keys()]
  const latest = found.get(LATEST)?.version ?? versions.findLast(version => !version.includes('-')) ?? versions.at(-1)
  const named = [...found].map(([tag, { version }]): [string, string] => [tag, version])
  return new Map(latest === undefined ? named : [[LATEST, latest], ...named.filter(([tag]) => tag !== LATEST)])
}
