import { countServedByCodename } from '../../catalog/queries/counts.ts'
import type { Repositories } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import type { FormatId } from '../../core/identity.ts'
import { listFrozen } from '../mirror/frozen.ts'
import { listRules } from '../mirror/rules.ts'
import type { MirrorList } from '../mirror/wanted.ts'
import { listChanged } from '../run/changed.ts'
import { isActive } from '../source-rules.ts'
import type { Source } from '../source.ts'
import { listUpdates, type Update } from './updates.ts'

/** A distribution that is kept up to date: something is published in it, and a source has security updates for it. */
export interface Covered {
  readonly codename: string
  readonly published: number
  /** Every source of it that is switched on. */
  readonly sources: readonly Source[]
  readonly security: readonly Source[]
  /** For machines of each architecture. */
  readonly lists: readonly MirrorList[]
  readonly isFrozen: boolean
}

export interface CoveredDeps {
  readonly db: Queryable
  readonly repositories: Pick<Repositories, 'seenBy'>
  /** Every source; those that are switched off are not `enabled`. */
  readonly listSources: () => Promise<readonly Source[]>
  readonly formatOf: (id: FormatId) => Format
  /** The setting security_updates.own_builds. */
  readonly ownBuilds: () => boolean
}

/** The distributions in which something is published: those that are kept up to date, and the names of the others. */
export async function listCovered({
  db,
  repositories,
  listSources,
}: Omit<CoveredDeps, 'formatOf' | 'ownBuilds'>): Promise<{ covered: Covered[]; notCovered: string[] }> {
  const counts = await countServedByCodename(db, ALL_SEEING)
  const all = (await listSources()).filter(isActive)
  const frozen = new Set((await listFrozen(db)).map(({ codename }) => codename))
  const seen = repositories.seenBy(ALL_SEEING)
  const covered: Covered[] = []
  const notCovered: string[] = []
  for (const [codename, published] of counts) {
    const distribution = seen.find(codename)
    if (distribution?.state !== 'active') continue
    const { format, archs, neutral } = distribution
    const sources = all.filter(one => one.format === format && one.codenames.some(other => other === codename))
    const security = sources.filter(one => one.security)
    if (security.length === 0) notCovered.push(codename)
    else
      covered.push({
        ...{ codename, published, sources, security },
        lists: archs.map((arch, n) => ({
          ...{ codename: distribution.codename, format, arch },
          archs: n === 0 ? [arch, ...neutral] : [arch],
        })),
        isFrozen: frozen.has(codename),
      })
  }
  return { covered, notCovered }
}

/** What the lists of the sources offer for a distribution now, as they were synchronised last. */
export async function updatesFor(
  { db, formatOf, ownBuilds }: Pick<CoveredDeps, 'db' | 'formatOf' | 'ownBuilds'>,
  { sources, security, isFrozen }: Pick<Covered, 'sources' | 'security' | 'isFrozen'>,
  list: MirrorList,
): Promise<Update[]> {
  const format = formatOf(list.format)
  const ids = security.map(({ id }) => id)
  const newer = await listUpdates(
    db,
    {
      ...{ list, isFrozen, ownBuilds: ownBuilds(), rules: await listRules(db) },
      sources: sources.map(({ id }) => id),
      security: ids,
    },
    format,
  )
  const changed = await listChanged(db, { codename: list.codename, format, sources: ids })
  return [
    ...newer,
    ...changed
      .filter(({ arch }) => list.archs.includes(arch))
      .map(({ name, version, arch, size, sourceKey, said }): Update => ({
        ...{ name, version, arch, size, sourceKey },
        ...{ here: version, unit: `${name} ${version}`, standing: 'upstream_changed', why: said },
      })),
  ]
}
