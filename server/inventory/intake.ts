import { createHash } from 'node:crypto'
import type { Repositories } from '../core/repository.ts'
import type { Db, Tx } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import type { Clock } from '../lib/clock.ts'
import { compareLists, type Changes } from './changes.ts'
import type { ClientRow } from './client-row.ts'
import type { Installed } from './package-lists.ts'
import type { Report } from './report.ts'
import { logScan } from './scan-log.ts'
import { distributionFor } from './system.ts'

/** The kind of the debt to compare a machine with what is here; its key ends with the machine's number. */
export const JUDGE = 'inventory'

export interface IntakeDeps {
  readonly db: Db
  readonly clock: Clock
  readonly repositories: Pick<Repositories, 'all'>
  readonly outbox: Pick<Outbox, 'owe' | 'nudge'>
}

/** How a report came. */
export interface Arrival {
  readonly clientId: number
  readonly connection: 'ssh' | 'agent'
  readonly by: string
  /** The address that it came from; undefined for a machine that was asked. */
  readonly ip?: string
  readonly durationMs: number
}

function digestOf(packages: readonly Installed[]): string {
  const hash = createHash('sha256')
  for (const { name, version, arch, source, sourceVersion } of packages)
    hash.update(`${name}\t${version}\t${arch}\t${source}\t${sourceVersion}\n`)
  return hash.digest('hex')
}

async function writeChanges(tx: Tx, clientId: number, { added, removed }: Changes, at: Date): Promise<void> {
  const column = <T>(rows: readonly T[], name: keyof T): readonly unknown[] => rows.map(row => row[name])
  if (removed.length > 0)
    await tx.query(
      `delete from inventory_package p using unnest($2::text[], $3::text[], $4::text[]) as gone (name, version, arch)
      where p.client_id = $1 and p.name = gone.name and p.version = gone.version and p.arch = gone.arch`,
      [clientId, column(removed, 'name'), column(removed, 'version'), column(removed, 'arch')],
    )
  if (added.length > 0)
    await tx.query(
      `insert into inventory_package (client_id, name, version, arch, source, source_version, since)
      select $1, given.*, $7 from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) as given`,
      [
        clientId,
        column(added, 'name'),
        column(added, 'version'),
        column(added, 'arch'),
        column(added, 'source'),
        column(added, 'sourceVersion'),
        at,
      ],
    )
}

async function changesOf(
  tx: Tx,
  row: ClientRow,
  packages: readonly Installed[],
  digest: string,
): Promise<Changes | undefined> {
  if (row.packages_sha256 === digest) return undefined
  const before = await tx.query<{ name: string; version: string; arch: string }>(
    'select name, version, arch from inventory_package where client_id = $1',
    [row.id],
  )
  return compareLists(before, packages)
}

/** The architecture of most packages that have one. */
export function archOf(packages: readonly Pick<Installed, 'arch'>[]): string | undefined {
  const counts = new Map<string, number>()
  for (const { arch } of packages)
    if (arch !== 'all' && arch !== 'noarch') counts.set(arch, (counts.get(arch) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0]
}

async function writeFacts(
  tx: Tx,
  row: ClientRow,
  report: Report,
  { at, ip, digest, distribution }: { at: Date; ip: string | undefined; digest: string; distribution: string | null },
): Promise<void> {
  const { system, scanner, kernel, uptimeSeconds, reboot, rebootSaid, format, packages, agent } = report
  const booted = uptimeSeconds === undefined ? null : new Date(at.getTime() - uptimeSeconds * 1_000)
  await tx.query(
    `update inventory_client set ip = coalesce($2, ip), distro_id = $3, distro_version = $4, distro_codename = $5, distro_pretty = $6,
      grype_distro = $7, distribution = $8, format = $9, kernel = $10, arch = $11, booted_at = $12, reboot = $13, reboot_said = $14,
      packages = $15, packages_sha256 = $16, last_seen = $17, last_scan = $17, last_scan_status = 'ok', last_error = null,
      last_error_code = null, agent_version = coalesce($18, agent_version),
      agent_last_seen = case when connection_type = 'agent' then $17 else agent_last_seen end
    where id = $1`,
    [
      row.id,
      ip ?? null,
      system.id ?? null,
      system.version ?? null,
      system.codename ?? null,
      system.pretty ?? null,
      scanner ?? null,
      distribution,
      format,
      kernel ?? null,
      archOf(packages) ?? null,
      booted,
      reboot,
      rebootSaid,
      packages.length,
      digest,
      at,
      agent ?? null,
    ],
  )
}

/**
 * Takes what a machine told: its facts and packages in place of those before, an entry in its history, and the debt to
 * compare it with what is here. An equal list of packages is not written again.
 * @returns false when the machine is gone
 */
export async function takeReport(
  { db, clock, repositories, outbox }: IntakeDeps,
  report: Report,
  { clientId, connection, by, ip, durationMs }: Arrival,
): Promise<boolean> {
  const at = clock.now()
  const digest = digestOf(report.packages)
  const taken = await db.tx(async tx => {
    const row = await tx.first<ClientRow>('select * from inventory_client where id = $1 for update', [clientId])
    if (row === undefined) return false
    const changes = await changesOf(tx, row, report.packages, digest)
    if (changes !== undefined) await writeChanges(tx, clientId, changes, at)
    const { scanner = null, format } = report
    const distribution = distributionFor({ scanner, format, wanted: row.wanted_distribution }, repositories)
    await writeFacts(tx, row, report, { at, ip, digest, distribution })
    await logScan(tx, {
      clientId,
      at,
      connection,
      by,
      durationMs,
      packages: report.packages.length,
      // the first list is no change
      ...(changes === undefined || row.packages === null ? {} : { counts: changes.counts, changes: changes.said }),
    })
    const isJudged = changes === undefined && row.judged_at !== null && row.distribution === distribution
    if (!isJudged) await outbox.owe(tx, `${JUDGE}:${clientId}`)
    return true
  })
  outbox.nudge()
  return taken
}
