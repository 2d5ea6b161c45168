import type { FormatId } from '../../core/identity.ts'
import type { Alternatives, Provided, Reach } from '../../core/relation.ts'
import type { Queryable } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'

/** A published package with what it says of others. */
export interface ServedNeeds {
  readonly id: number
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly size: number
  readonly depends: readonly Alternatives[]
  readonly provides: readonly Provided[]
  readonly conflicts: readonly Alternatives[]
  readonly reach?: Reach
}

export interface NeedsOf {
  readonly format: Pick<Format, 'id' | 'multiArch'>
  readonly codename: string
  /** Those alone that offer one of these names, their own name included; absent: all. */
  readonly names?: readonly string[]
}

interface Row extends Omit<ServedNeeds, 'reach'> {
  readonly facts: unknown
}

/** What is published in a distribution, the newest first, with its relations: for whoever resolves dependencies. */
export async function listServedNeeds(
  db: Queryable,
  { format, codename, names }: NeedsOf,
): Promise<readonly ServedNeeds[]> {
  const id: FormatId = format.id
  const rows = await db.query<Row>(
    `
    select p.id, p.name, p.version, p.arch, p.size, p.manifest->'about'->'depends' as depends, p.manifest->'about'->'provides' as provides,
      p.manifest->'about'->'conflicts' as conflicts, case when $4::boolean then p.facts end as facts
    from package p
    where p.codename = $1 and p.format = $2 and p.state = 'published' and coalesce(p.kind, 'binary') = 'binary' and ($3::text[] is null
      or p.name = any($3) or exists (select 1 from package_offer o where o.package_id = p.id and o.provides = any($3)))
    order by p.name, p.sort_key desc, p.id`,
    [codename, id, names ?? null, format.multiArch !== undefined],
  )
  return rows.map(({ facts, ...row }) => {
    const reach = facts === null ? undefined : format.multiArch?.reachOf(facts)
    return { ...row, ...(reach === undefined ? {} : { reach }) }
  })
}
