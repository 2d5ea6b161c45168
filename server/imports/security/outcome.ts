import { listKnown, type Known } from '../../catalog/queries/known.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import type { Trouble } from '../mirror/report.ts'
import type { ItemState } from '../run/planned.ts'
import { entryOf, type Entry } from './report.ts'
import { isComing, type Standing, type Update } from './updates.ts'

interface Row {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly is_root: boolean
  readonly state: ItemState
  readonly why: string | null
  readonly source_key: string
}

/** What the imports of a run came to in one distribution. */
const listOutcomes = (db: Queryable, { jobId, codename }: { jobId: string; codename: string }): Promise<Row[]> =>
  db.query<Row>(
    `select name, version, arch, is_root, state, why, source_key from import_item
    where codename = $2 and job_id in (
      select id from job where kind = 'import' and request->>'part_of' like $1 || ':%')
    order by name collate "C", id`,
    [jobId, codename],
  )

/** The newest published version below this one. */
const versionBelow = ({ version }: Row, known: readonly Known[], format: Format): string | null =>
  known.find(one => one.state === 'published' && format.compareVersions(one.version, version) < 0)?.version ?? null

const STANDING_OF: Readonly<Record<ItemState, Standing>> = {
  waiting: 'wanted',
  added: 'published',
  already: 'published',
  pending_review: 'pending_review',
  blocked: 'blocked',
  upstream_changed: 'upstream_changed',
  failed: 'failed',
}

export interface OutcomeOf {
  readonly jobId: string
  readonly codename: string
  readonly format: Format
  /** What is to come still, after the run. */
  readonly updates: readonly Update[]
  /** Packages that could not even be asked for. */
  readonly troubles: readonly Trouble[]
  /** Why the run left something over. */
  readonly left: string
}

/** Every package of a run in one distribution: what came with it, and each update that is not served after it. */
export async function outcomeOf(db: Queryable, of: OutcomeOf): Promise<Entry[]> {
  const { codename, format, updates, troubles, left } = of
  const keyOf = ({ name, version }: { name: string; version: string }): string => `${name} ${version}`
  const whys = new Map(troubles.filter(one => one.distribution === codename).map(one => [keyOf(one), one.why]))
  const open = updates.map((update): Entry => {
    const entry = entryOf(update)
    if (!isComing(update)) return entry
    const why = whys.get(keyOf(update))
    if (why !== undefined) return { ...entry, standing: 'failed', why }
    return update.standing === 'failed' ? entry : { ...entry, why: left }
  })
  const named = new Set(open.map(keyOf))
  const rows = (await listOutcomes(db, of)).filter(row => row.state !== 'already' && row.state !== 'waiting')
  // tried twice in one run, it is what it came to last
  const last = [...new Map(rows.map(row => [`${keyOf(row)} ${row.arch}`, row])).values()].filter(
    row => row.state === 'added' || !named.has(keyOf(row)),
  )
  const known = Map.groupBy(await listKnown(db, ALL_SEEING, { codename }), ({ name }) => name)
  const imported = last.map((row): Entry => ({
    ...{ name: row.name, version: row.version, arch: row.arch },
    here: versionBelow(row, known.get(row.name) ?? [], format),
    source: known.get(row.name)?.find(({ version }) => version === row.version)?.source ?? row.name,
    source_id: row.source_key,
    standing: STANDING_OF[row.state],
    why: row.why,
    is_dependency: !row.is_root,
  }))
  return [...imported, ...open]
}
