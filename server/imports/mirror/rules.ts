import type { Tx, Queryable } from '../../db/db.ts'

/** What of a source is mirrored; empty lists leave nothing out. */
export interface MirrorRule {
  /** Patterns with `*` and `?`; one that begins with `!` leaves out. */
  readonly names: readonly string[]
  readonly sections: readonly string[]
  readonly priorities: readonly string[]
  /** So many versions of each name and architecture; null: all that the source lists. */
  readonly newest: number | null
  /** Only versions that a source of security updates of the distribution lists, too. */
  readonly security_only: boolean
  /** Into these alone; empty: every distribution that the source is for. */
  readonly distributions: readonly string[]
}

export const WHOLE: MirrorRule = {
  names: [],
  sections: [],
  priorities: [],
  newest: null,
  security_only: false,
  distributions: [],
}

/** By the id of the source; those without one are mirrored whole. */
export async function listRules(db: Queryable): Promise<ReadonlyMap<number, MirrorRule>> {
  const rows = await db.query<MirrorRule & { source_id: number }>(
    'select source_id, names, sections, priorities, newest, security_only, distributions from mirror_rule',
  )
  return new Map(rows.map(({ source_id: id, ...rule }) => [id, rule]))
}

export async function readRule(db: Queryable, sourceId: number): Promise<MirrorRule> {
  return (await listRules(db)).get(sourceId) ?? WHOLE
}

export async function saveRule(tx: Tx, sourceId: number, rule: MirrorRule, by: string): Promise<void> {
  const { names, sections, priorities, newest, security_only: securityOnly, distributions } = rule
  await tx.query(
    `insert into mirror_rule (source_id, names, sections, priorities, newest, security_only, distributions, set_by)
    values ($1, $2, $3, $4, $5, $6, $7, $8)
    on conflict (source_id) do update set names = $2, sections = $3, priorities = $4, newest = $5, security_only = $6,
      distributions = $7, set_by = $8, set_at = clock_timestamp()`,
    [sourceId, names, sections, priorities, newest, securityOnly, distributions, by],
  )
}

/** Where an earlier run came to: it goes on behind this name. */
export async function readPlace(db: Queryable, sourceId: number, codename: string, arch: string): Promise<string> {
  const row = await db.first<{ after: string }>(
    'select after from mirror_place where source_id = $1 and codename = $2 and arch = $3',
    [sourceId, codename, arch],
  )
  return row?.after ?? ''
}

export async function savePlace(
  tx: Queryable,
  { sourceId, codename, arch, after }: { sourceId: number; codename: string; arch: string; after: string },
): Promise<void> {
  await tx.query(
    `insert into mirror_place (source_id, codename, arch, after) values ($1, $2, $3, $4)
    on conflict (source_id, codename, arch) do update set after = $4`,
    [sourceId, codename, arch, after],
  )
}
