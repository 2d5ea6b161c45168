import { listKnown } from '../../catalog/queries/known.ts'
import { listNewestServed } from '../../catalog/queries/newest-served.ts'
import type { State } from '../../core/manifest.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import type { MirrorRule } from '../mirror/rules.ts'
import { patternOf, type MirrorList, type Wanted } from '../mirror/wanted.ts'
import type { ItemState } from '../run/planned.ts'
import { isTheirs, servedRows } from './own-builds.ts'

/** What becomes of a security update: `wanted` and `failed` come with the next run, the others wait for people. */
export const STANDINGS = [
  'wanted',
  'published',
  'pending_review',
  'blocked',
  'failed',
  'upstream_changed',
  'own_build',
  'excluded',
  'removed',
  'frozen',
] as const
export type Standing = (typeof STANDINGS)[number]

/** A newer version, in a source of security updates, of a package that is published here. */
export interface Update extends Wanted {
  readonly unit: string
  /** The newest version that is published here. */
  readonly here: string
  readonly sourceKey: string
  readonly standing: Standing
  /** A sentence, with the way out; undefined where it simply comes. */
  readonly why?: string
}

export interface UpdatesOf {
  readonly list: MirrorList
  /** Ids of the sources of the distribution that are switched on. */
  readonly sources: readonly number[]
  /** Ids of those with security updates, the first before the others. */
  readonly security: readonly number[]
  /** By the id of the source. */
  readonly rules: ReadonlyMap<number, MirrorRule>
  /** Own builds are updated, too. */
  readonly ownBuilds: boolean
  readonly isFrozen: boolean
}

interface Row {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly size: number
  readonly section: string | null
  readonly source: string
  readonly source_version: string
  readonly source_id: number
  readonly source_key: string
  readonly here: string
  readonly is_theirs: boolean
  readonly came: ItemState | null
  readonly why: string | null
}

const ROWS = `
  select c.name, c.version, c.arch, c.size, c.section, c.source, c.source_version, c.source_id, s.key as source_key,
    here.version as here, i.state as came, i.why, ${isTheirs({ format: '$2', sources: '$5' })} as is_theirs
  from ${servedRows('$1')}
  join import_package c on c.name = here.name and c.source_id = any($6) and c.arch = any($4) and not c.hidden
    and c.version <> here.version
    and (c.module is not null or not exists (select 1 from import_package m
      where m.name = c.name and m.source_id = any($5) and m.module is not null and not m.hidden))
  join import_source s on s.id = c.source_id
  left join lateral (select state, why from import_item i
    where i.format = $2 and i.codename = $3 and i.name = c.name and i.version = c.version and i.arch = c.arch
    order by i.id desc limit 1) i on true
  order by array_position($6, c.source_id), c.id`

/**
 * What sources of security updates list in a newer version than the newest that a distribution serves, each name once,
 * in its newest version: by source package, those of one source together. Those that failed before come last.
 */
export async function listUpdates(
  db: Queryable,
  of: UpdatesOf,
  format: Pick<Format, 'compareVersions'>,
): Promise<Update[]> {
  const { list, sources, security } = of
  // it counts by name: the newest version is what clients install
  const served = JSON.stringify(await listNewestServed(db, ALL_SEEING, list))
  const { format: id, codename, archs } = list
  const rows = await db.query<Row>(ROWS, [served, id, codename, archs, sources, security])
  const newer = rows.filter(({ version, here }) => format.compareVersions(version, here) > 0)
  const known = new Map((await listKnown(db, ALL_SEEING, list)).map(one => [keyOf(one), one.state]))
  const newest = (some: readonly Row[]): Row | undefined =>
    some.reduce<Row | undefined>(
      (best, row) => (best === undefined || format.compareVersions(row.version, best.version) > 0 ? row : best),
      undefined,
    )
  const found = [...Map.groupBy(newer, ({ name }) => name).values()].flatMap(some => {
    const allowed = some.filter(row => !isExcluded(row, of))
    const row = newest(allowed.length > 0 ? allowed : some)
    if (row === undefined) return []
    return [updateOf(row, of, { known: known.get(keyOf(row)), isOut: allowed.length === 0 })]
  })
  // a unit is late with the last of its own: they come together
  const late = new Set(found.filter(({ standing }) => standing === 'failed').map(({ unit }) => unit))
  const orderOf = ({ unit, name }: Update): string => `${late.has(unit) ? 1 : 0} ${unit} ${name}`
  return found.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
}

/** Whether the mirror rule of its source leaves a package out. What a rule names alone says what a mirror brings. */
function isExcluded({ name, section, source_id: id }: Row, { rules, list }: UpdatesOf): boolean {
  const rule = rules.get(id)
  if (rule === undefined) return false
  if (rule.distributions.length > 0 && !rule.distributions.includes(list.codename)) return true
  const isOf = (text: string, patterns: readonly string[]): boolean =>
    patterns.some(one => one.startsWith('!') && new RegExp(patternOf(one.slice(1))).test(text))
  return isOf(name, rule.names) || (section !== null && isOf(section, rule.sections))
}

/** How a row stands here: its state where it is known, and whether a rule leaves it out. */
interface Found {
  readonly known: State | undefined
  readonly isOut: boolean
}

const keyOf = ({ name, version, arch }: Pick<Row, 'name' | 'version' | 'arch'>): string => `${name} ${version} ${arch}`

function updateOf(row: Row, of: UpdatesOf, found: Found): Update {
  const { name, version, arch, size, here, source, source_version: sourceVersion, source_key: sourceKey } = row
  const { standing, why } = standingOf(row, of, found)
  return {
    ...{ name, version, arch, size, here, sourceKey, standing },
    unit: `${source} ${sourceVersion}`,
    ...(why === undefined ? {} : { why }),
  }
}

const WHY_NOT: Readonly<Record<'quarantined' | 'rejected', string>> = {
  quarantined: 'It is quarantined. The page Review says why.',
  rejected: 'It is rejected. The page Review says why.',
}

function standingOf(row: Row, of: UpdatesOf, { known, isOut }: Found): { standing: Standing; why?: string } {
  const { came, why } = row
  if (known === 'pending_review')
    return { standing: 'pending_review', why: why ?? 'It waits for a decision in the review queue.' }
  if (known !== undefined && known !== 'published') return { standing: 'blocked', why: why ?? WHY_NOT[known] }
  if (isOut)
    return {
      standing: 'excluded',
      why: `The mirror rule of ${row.source_key} leaves it out. Change the rule, or import it by its name.`,
    }
  if (!row.is_theirs && !of.ownBuilds)
    return {
      standing: 'own_build',
      why: `No source lists the bytes of ${row.here}, so it counts as an own build. Build it again with the fix, import the update by its name, or switch security_updates.own_builds on.`,
    }
  if (came === 'upstream_changed')
    return { standing: 'upstream_changed', why: why ?? 'It is here with other bytes than its source has now.' }
  if (came !== null && came !== 'failed' && came !== 'waiting')
    return {
      standing: 'removed',
      why: 'It came before, and somebody removed it here. Import it by its name to have it back.',
    }
  if (of.isFrozen)
    return { standing: 'frozen', why: `${of.list.codename} is frozen. It comes with the first run after that.` }
  if (came === 'failed') return { standing: 'failed', why: why ?? 'It could not be fetched. The next run tries again.' }
  return { standing: 'wanted' }
}

/** Whether a run brings it. */
export const isComing = ({ standing }: Pick<Update, 'standing'>): boolean =>
  standing === 'wanted' || standing === 'failed'
