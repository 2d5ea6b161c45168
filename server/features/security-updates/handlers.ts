import { needScopes } from '../../core/access.ts'
import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import { maySee, seesAll, type Viewer } from '../../core/viewer.ts'
import { listCovered, updatesFor, type Covered } from '../../imports/security/covered.ts'
import {
  entryOf,
  findSecurityReport,
  listSecurityReports,
  reportFor,
  summaryOf,
  type SecurityReport,
} from '../../imports/security/report.ts'
import { SECURITY_UPDATES, type SecurityRequest } from '../../imports/security/run.ts'
import { isComing } from '../../imports/security/updates.ts'
import type { securityUpdates } from './contract.ts'
import type { SecurityRouteDeps } from './deps.ts'
import { findOpenRun } from './open-run.ts'

const SHOWN = 500
const LIMIT = 20

function summaryView(report: SecurityReport) {
  const { job_id, by, started_at, ended_at, end, result, bytes } = report
  return { job_id, by, started_at, ended_at, end, result, bytes, ...summaryOf(report) }
}

const runView = (report: SecurityReport) => ({
  ...summaryView(report),
  synchronised: report.synchronised.map(({ source_id, label, state, said }) => ({ source_id, label, state, said })),
  parts: report.parts.map(({ came, held, missing, ...part }) => ({
    ...part,
    ...{ came: [...came], held: [...held], missing: [...missing] },
  })),
})

/** Runs that somebody may see, the newest first. */
const seenRuns = async ({ db }: Pick<SecurityRouteDeps, 'db'>, viewer: Viewer): Promise<SecurityReport[]> =>
  (await listSecurityReports(db)).flatMap(report => reportFor(report, viewer) ?? [])

async function coveredFor(
  deps: SecurityRouteDeps,
  viewer: Viewer,
  codename?: string,
): Promise<{ covered: readonly Covered[]; notCovered: readonly string[] }> {
  if (codename !== undefined) deps.repositories.seenBy(viewer).get(codename)
  const { covered, notCovered } = await listCovered(deps)
  return {
    covered: covered.filter(one => maySee(viewer, one.codename) && (codename ?? one.codename) === one.codename),
    notCovered: notCovered.filter(one => maySee(viewer, one)),
  }
}

export const securityHandlers: Handlers<typeof securityUpdates, SecurityRouteDeps> = {
  'GET /import/security-updates': async (deps, { viewer }) => {
    const { db, settings, nextRun } = deps
    const { covered, notCovered } = await coveredFor(deps, viewer)
    const held = await deps.held()
    const [last] = await seenRuns(deps, viewer)
    return {
      schedule: { ...settings.now().sync, ...settings.now().security_updates, next_run: nextRun() },
      running: await findOpenRun(db, viewer),
      last_run: last === undefined ? null : runView(last),
      distributions: covered.map(({ codename, published, security, sources, isFrozen }) => ({
        ...{ codename, published, frozen: isFrozen },
        sources: security.map(({ key }) => key),
        never_synchronised: sources.filter(({ id }) => !held.has(id)).map(({ key }) => key),
      })),
      not_covered: [...notCovered],
    }
  },
  'GET /import/security-updates/available': async (deps, { query, viewer }) => {
    const { covered } = await coveredFor(deps, viewer, query.distribution)
    const distributions = []
    for (const one of covered) {
      const updates = []
      for (const list of one.lists) updates.push(...(await updatesFor(deps, one, list)))
      const waiting = updates.filter(isComing).length
      const held = updates.filter(({ standing }) => standing === 'pending_review' || standing === 'blocked').length
      distributions.push({
        codename: one.codename,
        ...{ waiting, held, left_out: updates.length - waiting - held },
        updates: updates.slice(0, SHOWN).map(entryOf),
      })
    }
    return { distributions }
  },
  'POST /import/security-updates/run': async (deps, { body, who, viewer, raw }) => {
    const { distribution } = body
    needScopes(who, distribution === undefined ? 'all' : [distribution])
    const { covered, notCovered } = await coveredFor(deps, viewer, distribution)
    const codenames = covered.map(({ codename }) => codename).toSorted()
    if (codenames.length === 0)
      fail('security_no_source', { codenames: distribution ?? (notCovered.join(', ') || 'any distribution') })
    const isAll = distribution === undefined && seesAll(viewer)
    const request: SecurityRequest = isAll ? {} : { distributions: codenames }
    const { id, isNew } = await deps.worker.ask({
      kind: SECURITY_UPDATES,
      target: 'security',
      request: { ...request },
      codenames: isAll ? 'all' : codenames,
      by: who.name,
      requestId: raw.requestId,
    })
    const label = `Security updates for ${codenames.join(', ')}`
    return { job_id: id, label, status: 'running' as const, total: 0, already_running: !isNew }
  },
  'GET /import/security-updates/runs': async (deps, { query, viewer }) => ({
    runs: (await seenRuns(deps, viewer)).slice(0, query.limit ?? LIMIT).map(summaryView),
  }),
  'GET /import/security-updates/runs/{id}': async ({ db }, { params: { id }, viewer }) => {
    const report = await findSecurityReport(db, id)
    const seen = report === undefined ? undefined : reportFor(report, viewer)
    return runView(seen ?? fail('security_run_not_found', { id }))
  },
}
