import { rankOf, worst, type Finding } from '../../core/findings.ts'
import type { Iso } from '../../core/identity.ts'
import type { Decision, Manifest } from '../../core/manifest.ts'
import { acceptanceOf, heldSince, openFindings, reopensAt, wasScanned } from '../../core/review.ts'
import type { Tx } from '../../db/db.ts'

/** The columns of `package` by which the review queue sorts and filters, with their types. */
export const REVIEW_TYPES = {
  held_at: 'timestamptz',
  assignee: 'text',
  open_worst: 'text',
  open_rank: 'smallint',
  open_count: 'int',
  open_epss: 'real',
  open_kev: 'boolean',
  reopens_at: 'timestamptz',
  unscanned: 'boolean',
} as const

/** A package and its row. */
export interface Written {
  readonly id: number
  readonly manifest: Manifest
}

/** What those columns say of a manifest. Acceptances are as of the write. */
export function reviewRow(manifest: Manifest): Readonly<Record<keyof typeof REVIEW_TYPES, unknown>> {
  const open = openFindings(manifest, manifest.changed_at)
  const severity = worst(open)
  const scores = open.flatMap(({ epss }) => epss ?? [])
  return {
    held_at: heldSince(manifest) ?? null,
    assignee: manifest.review?.assigned_to ?? null,
    open_worst: severity ?? null,
    open_rank: severity === undefined ? 0 : rankOf(severity),
    open_count: open.length,
    open_epss: scores.length === 0 ? null : Math.max(...scores),
    open_kev: open.some(({ kev }) => kev === true),
    reopens_at: reopensAt(manifest) ?? null,
    unscanned: !wasScanned(manifest),
  }
}

const acceptedBy = (manifest: Manifest, finding: Finding): Decision | undefined =>
  acceptanceOf(manifest, finding, manifest.changed_at)

/** Writes the finding rows of these packages. Known findings keep the time when they were first seen. */
export async function insertFindings(tx: Tx, written: readonly Written[]): Promise<void> {
  const rows = written.flatMap(({ id, manifest }) =>
    manifest.findings.map(finding => ({ id, manifest, finding, accepted: acceptedBy(manifest, finding) })),
  )
  if (rows.length === 0) return
  const column = <T>(read: (finding: Finding) => T): T[] => rows.map(({ finding }) => read(finding))
  await tx.query(
    `
    insert into finding (package_id, cve, component, severity, rank, epss, kev, fixed_in, accepted, accepted_until, first_seen)
    select distinct on (f.package_id, f.cve, f.component) f.*
    from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::smallint[], $6::real[], $7::boolean[], $8::text[], $9::boolean[], $10::timestamptz[], $11::timestamptz[])
      as f (package_id, cve, component, severity, rank, epss, kev, fixed_in, accepted, accepted_until, first_seen)
    on conflict (package_id, cve, component) do update set severity = excluded.severity, rank = excluded.rank, epss = excluded.epss, kev = excluded.kev,
      fixed_in = excluded.fixed_in, accepted = excluded.accepted, accepted_until = excluded.accepted_until`,
    [
      rows.map(({ id }) => id),
      column(({ id }) => id),
      column(one => one.package),
      column(({ severity }) => severity),
      column(({ severity }) => rankOf(severity)),
      column(({ epss }) => epss ?? null),
      column(({ kev }) => kev === true),
      column(one => one.fixed_in ?? null),
      rows.map(({ accepted }) => accepted !== undefined),
      rows.map(({ accepted }) => accepted?.expires_at ?? null),
      rows.map(({ manifest }) => manifest.changed_at),
    ],
  )
}

/** Updates the finding rows of a package from its manifest. */
export async function indexFindings(tx: Tx, one: Written): Promise<void> {
  const { findings } = one.manifest
  await tx.query(
    `
    delete from finding where package_id = $1 and not exists (
      select 1 from unnest($2::text[], $3::text[]) as kept (cve, component) where kept.cve = finding.cve and kept.component = finding.component)`,
    [one.id, findings.map(({ id }) => id), findings.map(finding => finding.package)],
  )
  await insertFindings(tx, [one])
}

/** Writes the new decisions of these. None is ever changed or removed: they are the record. */
export async function indexDecisions(tx: Tx, manifests: readonly Manifest[]): Promise<void> {
  const rows = manifests.flatMap(({ ref, review }) => (review?.history ?? []).map(decision => ({ ref, decision })))
  if (rows.length === 0) return
  const column = (read: (decision: Decision) => string | Iso | undefined): (string | null)[] =>
    rows.map(({ decision }) => read(decision) ?? null)
  await tx.query(
    `
    insert into decision (format, codename, name, version, arch, cve, decision, action, justification, decided_by, decided_at, expires_at, due_at)
    select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
      $11::timestamptz[], $12::timestamptz[], $13::timestamptz[])
    on conflict do nothing`,
    [
      rows.map(({ ref }) => ref.format),
      rows.map(({ ref }) => ref.codename),
      rows.map(({ ref }) => ref.name),
      rows.map(({ ref }) => ref.version),
      rows.map(({ ref }) => ref.arch),
      column(({ cve }) => cve ?? ''),
      column(({ decision }) => decision),
      column(({ action }) => action),
      column(({ justification }) => justification),
      column(({ by }) => by),
      column(({ at }) => at),
      column(one => one.expires_at),
      column(one => one.due_at),
    ],
  )
}
