import type { Catalog } from '../../catalog/catalog.ts'
import { listServedNeeds } from '../../catalog/queries/served-needs.ts'
import {
  isNeededAgain,
  listSuperseded,
  listVersionedNeeds,
  type Dependent,
  type Superseded,
} from '../../catalog/queries/superseded.ts'
import { isRefusal } from '../../core/errors.ts'
import type { Codename, FormatId } from '../../core/identity.ts'
import type { Db } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import { removable } from '../../imports/run/removable.ts'
import type { Clock } from '../../lib/clock.ts'

export interface ImportedDeps {
  readonly db: Db
  readonly catalog: Pick<Catalog, 'change'>
  readonly clock: Clock
  readonly formatOf: (id: FormatId) => Format
  /** `retention.import_cleanup_days` */
  readonly importDays: () => number
}

interface Gone {
  readonly codename: string
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly size: number
  /** What took its place. */
  readonly newer: string
}

/** What a run removed of imported versions, or would remove. The lists name the first 500. */
export interface ImportedCleaned {
  readonly days: number
  readonly dry_run: boolean
  readonly removed_count: number
  readonly removed: readonly Gone[]
  readonly kept_count: number
  /** Those that were superseded for as long, and stay. */
  readonly kept: readonly (Omit<Gone, 'size' | 'newer'> & { readonly why: string })[]
  readonly bytes: number
  readonly message: string
}

const MOST = 500
const DAY_MS = 86_400_000

const isOfOneArch = (a: string, b: string, { archs }: Format): boolean =>
  a === b || archs.neutral.includes(a) || archs.neutral.includes(b)

/** For each of those that might go, who needs just that version and would stay. */
async function neededBy(
  { db, formatOf }: Pick<ImportedDeps, 'db' | 'formatOf'>,
  codename: string,
  going: readonly Superseded[],
): Promise<ReadonlyMap<number, string>> {
  const [first] = going
  if (first === undefined) return new Map()
  const format = formatOf(first.format)
  const offered = new Set(going.flatMap(({ name, provides }) => [name, ...provides.map(one => one.name)]))
  const dependents = await listVersionedNeeds(db, { codename, names: [...offered] })
  const groups = (of: Dependent): Dependent['depends'] =>
    of.depends.filter(group => group.some(({ name }) => offered.has(name)))
  const names = [...new Set(dependents.flatMap(groups).flatMap(group => group.map(({ name }) => name)))]
  const served = await listServedNeeds(db, { format, codename, names })
  const places = new Map(going.map(({ id }, at) => [id, at]))
  const nodes = [...going, ...dependents.filter(({ id }) => !places.has(id))]
  const byId = new Map(dependents.map(one => [one.id, one]))
  const needs = nodes.map(node => {
    const dependent = byId.get(node.id)
    if (dependent === undefined) return []
    return groups(dependent).flatMap(group => {
      const met = served.filter(
        one =>
          one.id !== node.id &&
          isOfOneArch(one.arch, node.arch, format) &&
          group.some(need =>
            [one, ...one.provides].some(({ name, version }) =>
              format.satisfies({ name, ...(version === undefined ? {} : { version }) }, need),
            ),
          ),
      )
      const only = met.map(({ id }) => places.get(id))
      return only.some(at => at === undefined) ? [] : only.filter(at => at !== undefined)
    })
  })
  const { stays } = removable(needs, new Set(going.keys()))
  return new Map(
    [...stays].flatMap(([at, by]) => {
      const [one, needing] = [going[at], nodes[by]]
      return one === undefined || needing === undefined
        ? []
        : [[one.id, `${needing.name} ${needing.version} needs it.`]]
    }),
  )
}

const said = (removed: number, kept: number, { days, dryRun }: { days: number; dryRun: boolean }): string =>
  `${removed === 1 ? '1 imported version' : `${removed} imported versions`} ${dryRun ? 'would go' : removed === 1 ? 'was removed' : 'were removed'}: a newer one took ${removed === 1 ? 'its' : 'their'} place more than ${days} days ago.${kept === 0 ? '' : ` ${kept} more ${kept === 1 ? 'stays' : 'stay'}, because something needs ${kept === 1 ? 'it' : 'them'}.`}`

/**
 * Removes imported versions that have had a newer published one beside them for so many days, and that nothing needs:
 * no pin, no tag, and no published package that only this version satisfies. A distribution that is rolled back is left
 * alone. Or only lists them.
 */
export async function cleanImported(
  { db, catalog, clock, formatOf, importDays }: ImportedDeps,
  wish: {
    readonly dryRun: boolean
    readonly by: string
    readonly ip?: string
    readonly signal?: AbortSignal
    /** Called after each that was removed. */
    readonly removed?: (one: Gone) => Promise<void>
  },
): Promise<ImportedCleaned> {
  const { dryRun } = wish
  const days = importDays()
  const found = await listSuperseded(db, new Date(clock.now().getTime() - days * DAY_MS))
  const free = found.filter(({ pinned, tagged }) => !pinned && !tagged)
  const needing = new Map<number, string>()
  for (const [codename, going] of Map.groupBy(free, one => one.codename))
    for (const [id, why] of await neededBy({ db, formatOf }, codename, going)) needing.set(id, why)
  const actor = { name: wish.by, ...(wish.ip === undefined ? {} : { ip: wish.ip }) }
  const removed: Gone[] = []
  for (const { id, format, codename, name, version, arch, size, newer } of free) {
    if (needing.has(id)) continue
    wish.signal?.throwIfAborted()
    const one = { codename, name, version, arch, size, newer }
    const ref = { format, codename: codename as Codename, name, version, arch }
    const why = `It was imported, and ${newer} took its place more than ${days} days ago.`
    try {
      const unless = (tx: Parameters<typeof isNeededAgain>[0]): Promise<boolean> => isNeededAgain(tx, ref)
      if (!dryRun && (await catalog.change({ kind: 'delete', ref, why, unless }, actor)).outcome !== 'deleted') continue
      removed.push(one)
      await wish.removed?.(one)
    } catch (error) {
      if (!isRefusal(error, 'version_not_found')) throw error // deleted by somebody meanwhile
    }
  }
  const kept = found.flatMap(({ id, codename, name, version, arch, pinned, tagged }) => {
    const why = pinned ? 'It is pinned.' : tagged ? 'A tag names it.' : needing.get(id)
    return why === undefined ? [] : [{ codename, name, version, arch, why }]
  })
  return {
    days,
    dry_run: dryRun,
    removed_count: removed.length,
    removed: removed.slice(0, MOST),
    kept_count: kept.length,
    kept: kept.slice(0, MOST),
    bytes: removed.reduce((sum, { size }) => sum + size, 0),
    message: said(removed.length, kept.length, { days, dryRun }),
  }
}
