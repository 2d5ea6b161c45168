import { lockVersion } from '../../catalog/queries/retention.ts'
import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import { asSeenBy, type Repositories } from '../../core/repository.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Audit } from '../../record/audit.ts'
import type { retention } from './contract.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { clean, cleanAll, readRule, type RetentionDeps } from './retention.ts'
import { deletePin, saveKeep, savePin } from './store.ts'

export interface RetentionRouteDeps extends Omit<RetentionDeps, 'repositories'> {
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly audit: Pick<Audit, 'owe'>
  readonly clock: Clock
}

export const retentionHandlers: Handlers<typeof retention, RetentionRouteDeps> = {
  'POST /settings/run-retention': async (deps, { who, raw }) => {
    const all = { ...deps, repositories: deps.repositories.seenBy(ALL_SEEING) }
    const done = await cleanAll(all, { by: who.name, ip: raw.clientIp })
    const removed = done.reduce((sum, one) => sum + one.removed.length, 0)
    return {
      status: 'done',
      job: 'version-retention',
      message: `${removed === 1 ? '1 version was' : `${removed} versions were`} removed by the rules of ${done.length === 1 ? '1 distribution' : `${done.length} distributions`}.`,
      distributions: [...done],
      removed,
      bytes: done.reduce((sum, { bytes }) => sum + bytes, 0),
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
  'POST /distributions/{codename}/retention/run': (deps, { params, who, viewer, raw }) =>
    clean(asSeenBy(deps, viewer), params.codename, { dryRun: false, by: who.name, ip: raw.clientIp, viewer }),
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
