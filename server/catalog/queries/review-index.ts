import { rankOf, worst, type Finding } from '../../core/findings.ts'
import type { Iso, PackageRef } from '../../core/identity.ts'
import type { Decision, Manifest } from '../../core/manifest.ts'
import { acceptanceOf, heldSince, openFindings, reopensAt, wasScanned } from '../../core/review.ts'
import type { Tx } from '../../db/db.ts'

/**
 * The columns of `package` by which the review queue sorts, in the order of `REVIEW_COLUMNS`. Acceptances are as of the
 * write.
 */
export const REVIEW_COLUMNS = [
  'held_at',
  'assignee',
  'open_worst',
  'open_rank',
  'open_count',
  'open_epss',
  'open_kev',
  'reopens_at',
  'unscanned',
] as const

/** The values of `REVIEW_COLUMNS`, in that order: the queue sorts and filters by them without opening a manifest. */
export function reviewColumns(manifest: Manifest): unknown[] {
  const open = openFindings(manifest, manifest.changed_at)
  const severity = worst(open)
  const scores = open.flatMap(({ epss }) => epss ?? [])
  return [
    heldSince(manifest) ?? null,
    manifest.review?.assigned_to ?? null,
    severity ?? null,
    severity === undefined ? 0 : rankOf(severity),
    open.length,
    scores.length === 0 ? null : Math.max(...scores),
    open.some(({ kev }) => kev === true),
    reopensAt(manifest) ?? null,
    !wasScanned(manifest),
  ]
}

async function writeFindings(tx: Tx, packageId: number, manifest: Manifest): Promise<void> {
  const { findings } = manifest
  const column = <T>(read: (finding: Finding) => T): T[] => findings.map(read)
  const accepted = findings.map(finding => acceptanceOf(manifest, finding, manifest.changed_at))
  await tx.query(
    `
    insert into finding (package_id, cve, component, severity, rank, epss, kev, fixed_in, accepted, accepted_until, first_seen)
    select distinct on (f.cve, f.component) $1::bigint, f.*, $11::timestamptz
    from unnest($2::text[], $3::text[], $4::text[], $5::smallint[], $6::real[], $7::boolean[], $8::text[], $9::boolean[], $10::timestamptz[])
      as f (cve, component, severity, rank, epss, kev, fixed_in, accepted, accepted_until)
    on conflict (package_id, cve, component) do update set severity = excluded.severity, rank = excluded.rank, epss = excluded.epss, kev = excluded.kev,
      fixed_in = excluded.fixed_in, accepted = excluded.accepted, accepted_until = excluded.accepted_until`,
    [
      packageId,
      column(({ id }) => id),
      column(one => one.package),
      column(({ severity }) => severity),
      column(({ severity }) => rankOf(severity)),
      column(({ epss }) => epss ?? null),
      column(({ kev }) => kev === true),
      column(one => one.fixed_in ?? null),
      accepted.map(decision => decision !== undefined),
      accepted.map(decision => decision?.expires_at ?? null),
      manifest.changed_at,
    ],
  )
}

/** Updates the finding rows of a package from its manifest. Known findings keep the time when they were first seen. */
export async function indexFindings(tx: Tx, packageId: number, manifest: Manifest): Promise<void> {
  const { findings } = manifest
  await tx.query(
    `
    delete from finding where package_id = $1 and not exists (
      select 1 from unnest($2::text[], $3::text[]) as kept (cve, component) where kept.cve = finding.cve and kept.component = finding.component)`,
    [packageId, findings.map(({ id }) => id), findings.map(finding => finding.package)],
  )
  if (findings.length > 0) await writeFindings(tx, packageId, manifest)
}

/** Writes the new decisions. None is ever changed or removed: they are the record. */
export async function indexDecisions(tx: Tx, ref: PackageRef, history: readonly Decision[]): Promise<void> {
  if (history.length === 0) return
  const column = (read: (decision: Decision) => string | Iso | undefined): (string | null)[] =>
    history.map(decision => read(decision) ?? null)
  await tx.query(
    `
    insert into decision (format, codename, name, version, arch, cve, decision, action, justification, decided_by, decided_at, expires_at, due_at)
    select $1, $2, $3, $4, $5, d.* from unnest($6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::timestamptz[], $12::timestamptz[], $13::timestamptz[]) as d
    on conflict do nothing`,
    [
      ref.format,
      ref.codename,
      ref.name,
      ref.version,
      ref.arch,
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
