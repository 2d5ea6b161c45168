import { listHighest, readMarks } from '../catalog/queries/highest.ts'
import { rankOf, SEVERITIES } from '../core/findings.ts'
import type { Repositories } from '../core/repository.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import type { Db } from '../db/db.ts'
import { getFormat } from '../formats/index.ts'
import type { Clock } from '../lib/clock.ts'
import type { ClientRow } from './client-row.ts'
import { replaceFindings, replaceUpdates, type KeptFinding } from './findings-store.ts'
import type { MatchedSystem, Matcher } from '../scanners/matcher.ts'
import type { Installed } from './package-lists.ts'
import { distributionFor } from './system.ts'
import { addCounts, countSeverities, findNewer, weighUpdates, type Afflicted, type Candidate } from './updates.ts'

export interface JudgeDeps {
  readonly db: Db
  readonly clock: Clock
  readonly repositories: Pick<Repositories, 'all' | 'find'>
  readonly matcher: Matcher
}

/** What a machine was compared with: other data, or other packages here, and it is compared again. */
export const markOf = (generation: string, ofDistribution: string | undefined): string =>
  `${generation}/${ofDistribution ?? ''}`

async function readInstalled(db: Db, clientId: number): Promise<readonly Installed[]> {
  const rows = await db.query<Omit<Installed, 'sourceVersion'> & { source_version: string }>(
    'select name, version, arch, source, source_version from inventory_package where client_id = $1 order by name, version, arch',
    [clientId],
  )
  return rows.map(({ source_version: sourceVersion, ...one }) => ({ ...one, sourceVersion }))
}

/** What is newer in the machine's distribution; undefined where none is for it. */
async function newerThan(
  { db, repositories }: JudgeDeps,
  row: ClientRow,
  packages: readonly Installed[],
): Promise<readonly Candidate[] | undefined> {
  const distribution = row.distribution === null ? undefined : repositories.find(row.distribution)
  if (distribution === undefined || row.format === null || distribution.format !== row.format) return undefined
  const names = [...new Set(packages.map(({ name }) => name))]
  const newest = await listHighest(db, ALL_SEEING, { codename: distribution.codename, names })
  return findNewer(packages, newest, {
    compare: (a, b) => getFormat(distribution.format).compareVersions(a, b),
    neutral: distribution.neutral,
    arch: row.arch ?? undefined,
  })
}

/** The machine's system as vulnerability data name it. */
function systemOf(
  row: Pick<ClientRow, 'hostname' | 'distro_pretty' | 'grype_distro' | 'distribution'>,
  { find }: Pick<Repositories, 'find'>,
): MatchedSystem {
  const distribution = row.distribution === null ? undefined : find(row.distribution)
  return {
    label: row.distro_pretty ?? row.hostname,
    scanner: row.grype_distro ?? undefined,
    ...(distribution?.endOfLife === undefined ? {} : { endOfLife: distribution.endOfLife }),
  }
}

/** What the loaded data say of the machine's packages; `afflicted` is undefined where they say nothing. */
async function findingsOf({ matcher, repositories }: JudgeDeps, row: ClientRow, packages: readonly Installed[]) {
  const system = systemOf(row, repositories)
  const coverage = await matcher.coverage(system)
  if (row.grype_distro === null)
    return {
      system,
      coverage: {
        coverage: 'not_covered' as const,
        said: `Vulnerability data do not know the system ${system.label}, so nothing is known about its packages.`,
      },
      afflicted: undefined,
    }
  if (coverage.coverage === 'no_data' || coverage.coverage === 'not_covered')
    return { system, coverage, afflicted: undefined }
  const answers = await matcher.match(system, packages)
  const afflicted = packages.map((installed, at): Afflicted => ({ installed, findings: answers[at] ?? [] }))
  return { system, coverage, afflicted: afflicted.filter(({ findings }) => findings.length > 0) }
}

/** Compares one machine with the packages here and with the loaded vulnerability data. @throws EngineUnavailable */
export async function judgeMachine(deps: JudgeDeps, clientId: number): Promise<void> {
  const { db, clock, repositories, matcher } = deps
  const known = await db.first<ClientRow>('select * from inventory_client where id = $1', [clientId])
  if (known === undefined || known.packages === null || known.format === null) return
  const { format } = known
  const distribution = distributionFor(
    { scanner: known.grype_distro, format, wanted: known.wanted_distribution },
    repositories,
  )
  const row = { ...known, distribution }
  const marks = await readMarks(db, ALL_SEEING, distribution === null ? [] : [distribution])
  const mark = markOf(await matcher.generation(), marks.get(distribution ?? ''))
  const packages = await readInstalled(db, clientId)
  const compare = (a: string, b: string): number => getFormat(format).compareVersions(a, b)
  const candidates = await newerThan(deps, row, packages)
  const { system, coverage, afflicted } = await findingsOf(deps, row, packages)
  const available =
    afflicted === undefined
      ? []
      : await matcher.match(
          system,
          (candidates ?? []).map(one => one.available),
        )
  const { updates, stateOf } = weighUpdates(candidates ?? [], available, { afflicted: afflicted ?? [], compare })
  const kept = (afflicted ?? []).flatMap(({ installed, findings }) =>
    findings.map((finding): KeptFinding => ({ installed, finding, updateState: stateOf(installed, finding.id) })),
  )
  const counts = afflicted === undefined ? null : countSeverities(kept.map(({ finding }) => finding))
  const worst = Math.max(0, ...SEVERITIES.filter(one => (counts?.[one] ?? 0) > 0).map(rankOf))
  const now = clock.now()
  await db.tx(async tx => {
    const locked = await tx.first<{ packages_sha256: string | null }>(
      'select packages_sha256 from inventory_client where id = $1 for update',
      [clientId],
    )
    // gone, or it told other packages meanwhile: that report owes a comparison of its own
    if (locked === undefined || locked.packages_sha256 !== known.packages_sha256) return
    const oldest = await replaceFindings(tx, clientId, kept, now)
    await replaceUpdates(tx, clientId, updates, now)
    await tx.query(
      `update inventory_client set judged_at = $2, judged_by = $3, distribution = $4, behind = $5, findings = $6::jsonb, oldest = $7::jsonb,
        worst = $8, closes = $9::jsonb, coverage = $10, coverage_said = $11,
        oldest_update = (select min(since) from inventory_update where client_id = $1 and state = 'here')
      where id = $1`,
      [
        clientId,
        now,
        mark,
        distribution,
        candidates === undefined ? null : updates.length,
        counts === null ? null : JSON.stringify(counts),
        counts === null ? null : JSON.stringify(oldest),
        worst,
        JSON.stringify(addCounts(updates.filter(({ state }) => state === 'here').map(({ closes }) => closes))),
        coverage.coverage,
        coverage.said,
      ],
    )
  })
}

type Compared = Pick<
  ClientRow,
  | 'id'
  | 'hostname'
  | 'distro_pretty'
  | 'grype_distro'
  | 'format'
  | 'wanted_distribution'
  | 'distribution'
  | 'judged_by'
  | 'coverage'
>

/**
 * Machines that were compared with other data or other packages than there are now, or never, and those whose data are
 * worth something else by now, as they grow old.
 */
export async function listStale({ db, repositories, matcher }: Omit<JudgeDeps, 'clock'>): Promise<readonly number[]> {
  const rows = await db.query<Compared>(
    `select id, hostname, distro_pretty, grype_distro, format, wanted_distribution, distribution, judged_by, coverage
    from inventory_client where packages is not null`,
  )
  const wanted = rows.map(row => ({
    ...row,
    now: distributionFor(
      { scanner: row.grype_distro, format: row.format, wanted: row.wanted_distribution },
      repositories,
    ),
  }))
  const codenames = [...new Set(wanted.flatMap(({ now }) => now ?? []))]
  const marks = await readMarks(db, ALL_SEEING, codenames)
  const generation = await matcher.generation()
  const worth = new Map<string, Promise<{ readonly coverage: string }>>()
  const worthOf = async (row: Compared): Promise<string> => {
    if (row.grype_distro === null) return row.coverage
    const key = `${row.grype_distro}\t${row.distribution ?? ''}`
    const known = worth.get(key) ?? matcher.coverage(systemOf(row, repositories))
    worth.set(key, known)
    return (await known).coverage
  }
  const stale: number[] = []
  for (const row of wanted)
    if (
      row.now !== row.distribution ||
      row.judged_by !== markOf(generation, marks.get(row.now ?? '')) ||
      row.coverage !== (await worthOf(row))
    )
      stale.push(row.id)
  return stale
}
