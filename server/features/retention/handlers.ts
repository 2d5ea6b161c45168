import { lockVersion } from '../../catalog/queries/retention.ts'
import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import { asSeenBy, type Repositories } from '../../core/repository.ts'
import type { Jobs } from '../../core/work.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Audit } from '../../record/audit.ts'
import { answerOf } from '../../work/answer.ts'
import type { retention } from './contract.ts'
import { clean, readRule, type Cleaned, type RetentionDeps } from './retention.ts'
import { deletePin, readKeep, saveKeep, savePin } from './store.ts'
import { AUDIT, VERSIONS, type AuditCleaned } from './work.ts'

export interface RetentionRouteDeps extends Omit<RetentionDeps, 'repositories'> {
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly audit: Pick<Audit, 'owe'>
  readonly clock: Clock
  readonly jobs: Jobs
  /** Whether this edition removes old audit files. */
  readonly cutsAudit: () => boolean
}

export const retentionHandlers: Handlers<typeof retention, RetentionRouteDeps> = {
  'POST /settings/run-retention': async ({ jobs, cutsAudit }, { query, who, raw }) => {
    const asked = { by: who.name, requestId: raw.requestId, codenames: 'all' as const }
    const done = await answerOf<readonly Cleaned[]>(
      jobs,
      { kind: VERSIONS, request: { ip: raw.clientIp }, ...asked },
      raw.signal,
    )
    const removed = done.reduce((sum, one) => sum + one.removed.length, 0)
    const said = `${removed === 1 ? '1 version was' : `${removed} versions were`} removed by the rules of ${done.length === 1 ? '1 distribution' : `${done.length} distributions`}.`
    const request = { accept_broken: query.accept_broken === true, ip: raw.clientIp }
    const audit = cutsAudit()
      ? await answerOf<AuditCleaned>(jobs, { kind: AUDIT, request, ...asked }, raw.signal)
      : null
    return {
      status: 'done',
      job: 'version-retention',
      message: `${said} ${audit?.message ?? 'The audit log is kept: its retention is part of the enterprise edition.'}`,
      distributions: [...done],
      removed,
      bytes: done.reduce((sum, { bytes }) => sum + bytes, 0),
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
