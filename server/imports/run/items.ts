import { relPath, type Codename, type FormatId } from '../../core/identity.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import type { Item, ItemState, Planned } from './planned.ts'

interface Row {
  readonly id: number
  readonly seq: number
  readonly source_id: number | null
  readonly source_key: string
  readonly format: string
  readonly codename: string
  readonly component: string | null
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly path: string
  readonly size: number
  readonly digests: Planned['digests']
  readonly control_sha1: string | null
  readonly is_root: boolean
  readonly needs: number[]
  readonly lacks: string | null
  readonly state: ItemState
  readonly why: string | null
}

const fromRow = (row: Row): Item => ({
  id: row.id,
  seq: row.seq,
  format: row.format as FormatId,
  codename: row.codename as Codename,
  identity: { format: row.format as FormatId, name: row.name, version: row.version, arch: row.arch },
  sourceId: row.source_id ?? 0,
  sourceKey: row.source_key,
  ...(row.component === null ? {} : { component: row.component }),
  path: relPath(row.path),
  size: row.size,
  digests: row.digests,
  ...(row.control_sha1 === null ? {} : { controlSha1: row.control_sha1 }),
  isRoot: row.is_root,
  needs: row.needs,
  ...(row.lacks === null ? {} : { lacks: row.lacks }),
  state: row.state,
  ...(row.why === null ? {} : { why: row.why }),
})

/** What an import is for. */
export interface GroupOf {
  readonly name: string
  readonly codename: Codename
  readonly asked: readonly string[]
  readonly by: string
}

/**
 * The group of this name; what is asked for is added where there is one. @returns undefined: it is of another
 * distribution
 */
export async function openGroup(tx: Tx, { name, codename, asked, by }: GroupOf): Promise<number | undefined> {
  const row = await tx.first<{ id: number }>(
    `insert into import_group (name, codename, asked, created_by) values ($1, $2, $3, $4)
    on conflict (name) do update set asked = array(select distinct unnest(import_group.asked || excluded.asked))
      where import_group.codename = excluded.codename
    returning id`,
    [name, codename, asked, by],
  )
  return row?.id
}

/** Keeps the plan of a job, each package at its place. */
export async function insertItems(
  tx: Tx,
  { groupId, jobId, format, codename }: { groupId: number; jobId: string; format: FormatId; codename: Codename },
  planned: readonly Planned[],
): Promise<void> {
  const rows = planned.map((one, seq) => ({
    seq,
    source_id: one.sourceId,
    source_key: one.sourceKey,
    component: one.component ?? null,
    name: one.identity.name,
    version: one.identity.version,
    arch: one.identity.arch,
    path: one.path,
    size: one.size,
    digests: one.digests,
    control_sha1: one.controlSha1 ?? null,
    is_root: one.isRoot,
    needs: one.needs,
    lacks: one.lacks ?? null,
    state: one.changed === undefined ? 'waiting' : 'upstream_changed',
    why: one.changed ?? null,
  }))
  await tx.query(
    `insert into import_item (group_id, job_id, format, codename, seq, source_id, source_key, component, name, version, arch, path, size,
      digests, control_sha1, is_root, needs, lacks, state, why, ended_at)
    select $1, $2, $3, $4, seq, source_id, source_key, component, name, version, arch, path, size, digests, control_sha1, is_root, needs, lacks,
      state, why, case when state <> 'waiting' then clock_timestamp() end
    from jsonb_to_recordset($5::jsonb) as r (seq integer, source_id integer, source_key text, component text, name text, version text,
      arch text, path text, size bigint, digests jsonb, control_sha1 text, is_root boolean, needs integer[], lacks text, state text, why text)`,
    [groupId, jobId, format, codename, JSON.stringify(rows)],
  )
}

/** The packages of a job, in the order in which they are imported. */
export async function listItems(db: Queryable, jobId: string): Promise<Item[]> {
  return (await db.query<Row>('select * from import_item where job_id = $1 order by seq', [jobId])).map(fromRow)
}

/** Keeps what became of one. */
export async function endItem(
  db: Queryable,
  { id }: Pick<Item, 'id'>,
  { state, why }: { readonly state: ItemState; readonly why?: string },
): Promise<void> {
  await db.query('update import_item set state = $2, why = $3, ended_at = clock_timestamp() where id = $1', [
    id,
    state,
    why ?? null,
  ])
}
