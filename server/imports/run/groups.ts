import { basename } from 'node:path'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import type { ItemState } from './planned.ts'

/** What was imported together. Times as Date, sizes in bytes. */
export interface Group {
  readonly id: number
  readonly name: string
  readonly codename: string
  readonly asked: readonly string[]
  readonly created_by: string
  readonly created_at: Date
  readonly packages: readonly GroupPackage[]
}

/** A package of a group. `not_reached`: the job ended before it. */
export interface GroupPackage {
  readonly filename: string
  readonly format: string
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly size: number
  readonly source: string
  readonly is_root: boolean
  readonly state: ItemState | 'not_reached'
  readonly why: string | null
}

type Row = Omit<Group, 'packages'> & { readonly packages: readonly (GroupPackage & { readonly path: string })[] | null }

/** The groups of distributions that the viewer sees, the newest first; one of them where a name is given. */
export async function listGroups(db: Queryable, { hidden }: Viewer, name?: string): Promise<Group[]> {
  const rows = await db.query<Row>(
    `
    select g.id, g.name, g.codename, g.asked, g.created_by, g.created_at, i.packages
    from import_group g left join lateral (
      select json_agg(json_build_object('path', path, 'format', format, 'name', name, 'version', version, 'arch', arch, 'size', size,
        'source', source_key, 'is_root', is_root, 'state', state, 'why', why) order by id) as packages
      from (
        select distinct on (i.name, i.version, i.arch) i.id, i.path, i.format, i.name, i.version, i.arch, i.size, i.source_key, i.is_root,
          case when i.state = 'waiting' and (j.id is null or j.finished_at is not null) then 'not_reached' else i.state end as state, i.why
        from import_item i left join job j on j.id = i.job_id
        where i.group_id = g.id order by i.name, i.version, i.arch, i.id desc
      ) newest
    ) i on true
    where not g.codename = any($1::text[]) and ($2::text is null or g.name = $2)
    order by g.created_at desc, g.id desc`,
    [hidden, name ?? null],
  )
  return rows.map(({ packages, ...group }) => ({
    ...group,
    packages: (packages ?? []).map(({ path, ...one }) => ({ ...one, filename: basename(path) })),
  }))
}

/** Those packages of a group that came in with it and that no other group has. */
export async function listOwnPackages(
  db: Queryable,
  groupId: number,
): Promise<{ format: string; codename: string; name: string; version: string; arch: string; size: number }[]> {
  return db.query(
    `
    select distinct i.format, i.codename, i.name, i.version, i.arch, i.size from import_item i
    where i.group_id = $1 and i.state in ('added', 'pending_review', 'blocked') and not exists (
      select 1 from import_item o where o.group_id <> i.group_id and o.format = i.format and o.codename = i.codename
        and o.name = i.name and o.version = i.version and o.arch = i.arch and o.state in ('added', 'already', 'pending_review'))
    order by i.name, i.version, i.arch`,
    [groupId],
  )
}

/** Forgets a group; its packages stay. */
export async function deleteGroup(tx: Tx, id: number): Promise<void> {
  await tx.query('delete from import_group where id = $1', [id])
}
