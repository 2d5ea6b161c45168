import { lockVersion } from '../../catalog/queries/retention.ts'
import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import { asSeenBy, type Repositories } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Jobs } from '../../core/work.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Audit } from '../../record/audit.ts'
import { answerOf } from '../../work/answer.ts'
import type { retention } from './contract.ts'
import { cleanImported, type ImportedCleaned, type ImportedDeps } from './imported.ts'
import { clean, readRule, type Cleaned, type RetentionDeps } from './retention.ts'
import { deletePin, listRules, readKeep, saveKeep, savePin } from './store.ts'
import { AUDIT, IMPORTED, VERSIONS, type AuditCleaned } from './work.ts'

export interface RetentionRouteDeps
  extends Omit<RetentionDeps, 'repositories'>, Pick<ImportedDeps, 'formatOf' | 'importDays'> {
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly audit: Pick<Audit, 'owe'>
  readonly clock: Clock
  readonly jobs: Jobs
  /** Whether this edition removes old audit files, and imported versions. */
  readonly cutsAudit: () => boolean
}

const KEPT_FOR_EVER = 'The audit log and imported versions are kept: their retention is part of the enterprise edition.'

/** What the night would remove of packages. */
async function wouldGo(deps: RetentionRouteDeps, by: string) {
  const seen = { ...deps, repositories: deps.repositories.seenBy(ALL_SEEING) }
  const distributions: Cleaned[] = []
  for (const { codename } of await listRules(deps.db))
    distributions.push(await clean(seen, codename, { dryRun: true, by, viewer: ALL_SEEING }))
  return { distributions, imports: deps.cutsAudit() ? await cleanImported(deps, { dryRun: true, by }) : null }
}

export const retentionHandlers: Handlers<typeof retention, RetentionRouteDeps> = {
  'POST /settings/run-retention': async (deps, { query, who, raw }) => {
    const { jobs, cutsAudit } = deps
    const isTrial = query.dry_run === true
    const asked = { by: who.name, requestId: raw.requestId, codenames: 'all' as const }
    const run = <Result>(kind: string, request: Readonly<Record<string, unknown>> = {}): Promise<Result> =>
      answerOf<Result>(jobs, { kind, request: { ...request, ip: raw.clientIp }, ...asked }, raw.signal)
    const { distributions: done, imports } = isTrial
      ? await wouldGo(deps, who.name)
      : {
          distributions: await run<readonly Cleaned[]>(VERSIONS),
          imports: cutsAudit() ? await run<ImportedCleaned>(IMPORTED) : null,
        }
    const removed = done.reduce((sum, one) => sum + one.removed.length, 0)
    const verb = isTrial ? 'would go' : removed === 1 ? 'was removed' : 'were removed'
    const said = `${removed === 1 ? '1 version' : `${removed} versions`} ${verb} by the rules of ${done.length === 1 ? '1 distribution' : `${done.length} distributions`}.`
    const audit =
      cutsAudit() && !isTrial ? await run<AuditCleaned>(AUDIT, { accept_broken: query.accept_broken === true }) : null
    return {
      status: 'done',
      job: 'version-retention',
      message: [said, imports?.message, audit?.message, ...(cutsAudit() ? [] : [KEPT_FOR_EVER])]
        .filter(part => part !== undefined)
        .join(' '),
      distributions: [...done],
      removed,
      bytes: done.reduce((sum, { bytes }) => sum + bytes, 0),
      imports,
      audit,
    }
  },
  'GET /distributions/{codename}/retention': (deps, { params, viewer }) =>
    readRule(asSeenBy(deps, viewer), params.codename),
  'PATCH /distributions/{codename}/retention': async (
    { db, audit, ...deps },
    { params, body: { keep }, who, viewer, raw },
  ) => {
    const repositories = deps.repositories.seenBy(viewer)
    const { codename } = repositories.need(params.codename)
    await db.tx(async tx => {
      await saveKeep(tx, codename, keep)
      await audit.owe(tx, {
        action: 'RETENTION',
        result: 'SUCCESS',
        user: who.name,
        ip: raw.clientIp,
        distribution: codename,
        facts: { kind: 'retention.changed', keep },
      })
    })
    return readRule({ db, repositories }, codename)
  },
  'POST /distributions/{codename}/retention/preview': (deps, { params, body, who, viewer }) =>
    clean(asSeenBy(deps, viewer), params.codename, { keep: body.keep, dryRun: true, by: who.name, viewer }),
  'POST /distributions/{codename}/retention/run': async (
    { db, jobs, ...deps },
    { params, who, viewer, raw },
  ): Promise<Cleaned> => {
    const { codename } = deps.repositories.seenBy(viewer).need(params.codename)
    if ((await readKeep(db, codename)) === undefined) fail('no_retention_rule', { codename })
    const [cleaned] = await answerOf<readonly Cleaned[]>(
      jobs,
      {
        kind: VERSIONS,
        target: codename,
        request: { codename, ip: raw.clientIp },
        codenames: [codename],
        by: who.name,
        requestId: raw.requestId,
      },
      raw.signal,
    )
    return cleaned ?? fail('no_retention_rule', { codename })
  },
  'POST /distributions/{codename}/pins': async (
    { db, audit, clock, ...deps },
    { params, body: { name, version, reason = '' }, who, viewer, raw },
  ) => {
    const repositories = deps.repositories.seenBy(viewer)
    const { codename } = repositories.need(params.codename)
    await db.tx(async tx => {
      if (!(await lockVersion(tx, viewer, { codename, name, version }))) fail('version_not_found', { name, version })
      await savePin(tx, codename, { name, version, reason, by: who.name, at: clock.now() })
      await audit.owe(tx, {
        action: 'PIN',
        result: 'SUCCESS',
        user: who.name,
        ip: raw.clientIp,
        package: name,
        version,
        distribution: codename,
        facts: { kind: 'package.pinned', reason },
      })
    })
    return readRule({ db, repositories }, codename)
  },
  'DELETE /distributions/{codename}/pins/{name}/{version}': async (
    { db, audit, ...deps },
    { params: { name, version, ...params }, who, viewer, raw },
  ) => {
    const repositories = deps.repositories.seenBy(viewer)
    const { codename } = repositories.need(params.codename)
    await db.tx(async tx => {
      if (!(await deletePin(tx, codename, { name, version }))) fail('pin_not_found', { name, version, codename })
      await audit.owe(tx, {
        action: 'PIN',
        result: 'SUCCESS',
        user: who.name,
        ip: raw.clientIp,
        package: name,
        version,
        distribution: codename,
        facts: { kind: 'package.unpinned' },
      })
    })
    return readRule({ db, repositories }, codename)
  },
}
