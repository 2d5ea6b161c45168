import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import { maySee, type Viewer } from '../../core/viewer.ts'
import { listsOf } from '../../imports/mirror/lists.ts'
import { listFrozen } from '../../imports/mirror/frozen.ts'
import { listReports } from '../../imports/mirror/report.ts'
import { listRules, readRule, saveRule, WHOLE } from '../../imports/mirror/rules.ts'
import { MIRROR } from '../../imports/mirror/work.ts'
import { isActive, isSeen } from '../../imports/source-rules.ts'
import type { Source } from '../../imports/source.ts'
import { recordChange } from '../../settings/recorded.ts'
import { jobLines } from '../../work/follow.ts'
import type { mirror } from './contract.ts'
import type { MirrorRouteDeps } from './deps.ts'
import { distributionHandlers } from './distribution-handlers.ts'
import { findMirrorJob, findOpenMirror, jobView, lastMirrorJobs, listMirrorJobs } from './job-store.ts'

const seenSources = async ({ listSources }: MirrorRouteDeps, { hidden }: Viewer): Promise<readonly Source[]> =>
  (await listSources()).filter(source => isSeen(source, hidden))

/** By key or number. @throws source_not_found */
async function sourceOf(deps: MirrorRouteDeps, viewer: Viewer, id: string): Promise<Source> {
  const all = await seenSources(deps, viewer)
  return (
    all.find(({ key }) => key === id) ??
    all.find(one => String(one.id) === id) ??
    fail('source_not_found', { source: id })
  )
}

const jobOf = async ({ db }: MirrorRouteDeps, viewer: Viewer, id: string) =>
  jobView((await findMirrorJob(db, viewer, id)) ?? fail('job_not_found', { id }))

function scheduleOf({ settings, nextRun }: MirrorRouteDeps) {
  const { sources: _, ...schedule } = settings.now().mirror
  return { ...schedule, next_run: nextRun() }
}

export const mirrorHandlers: Handlers<typeof mirror, MirrorRouteDeps> = {
  'GET /import/mirror/sources': async (deps, { viewer }) => {
    const { db, settings } = deps
    const rules = await listRules(db)
    const reports = await listReports(db)
    const jobs = await lastMirrorJobs(db, viewer)
    const on = settings.now().mirror.sources
    return {
      sources: (await seenSources(deps, viewer)).map(source => {
        const job = jobs.get(source.key)
        const report = reports.get(source.id)
        const rule = rules.get(source.id) ?? WHOLE
        return {
          id: source.key,
          label: source.label,
          format: source.format,
          enabled: on[source.key] === true,
          available: isActive(source),
          distributions: source.codenames.filter(codename => maySee(viewer, codename)),
          rule: {
            ...rule,
            names: [...rule.names],
            sections: [...rule.sections],
            priorities: [...rule.priorities],
            distributions: rule.distributions.filter(codename => maySee(viewer, codename)),
          },
          last_job: job === undefined ? null : jobView(job),
          report: report?.distributions.every(codename => maySee(viewer, codename)) === true ? report : null,
        }
      }),
    }
  },
  'POST /import/mirror/sources': async (deps, { body, who, viewer, raw }) => {
    const known = new Set((await seenSources(deps, viewer)).map(({ key }) => key))
    for (const id of Object.keys(body.sources)) if (!known.has(id)) fail('mirror_source_unknown', { source: id })
    const { settings, audit } = deps
    const patched = await settings.patch({
      mirror: { sources: { ...settings.now().mirror.sources, ...body.sources } },
    })
    await recordChange(audit, patched, { user: who.name, ip: raw.clientIp })
    return { sources: settings.now().mirror.sources }
  },
  'PATCH /import/mirror/sources/{source_id}': async (deps, { params, body, who, viewer, raw }) => {
    const { db, audit, outbox } = deps
    const source = await sourceOf(deps, viewer, params.source_id)
    for (const codename of body.distributions ?? [])
      if (!source.codenames.some(one => one === codename))
        fail('mirror_not_for', { source: source.key, codename, known: source.codenames.join(', ') })
    const before = await readRule(db, source.id)
    const rule = { ...before, ...body }
    await db.tx(async tx => {
      await saveRule(tx, source.id, rule, who.name)
      const values = Object.entries(body).map(([field, value]) => [
        field,
        Array.isArray(value) ? value.join(' ') || 'all' : String(value ?? 'all'),
      ])
      await audit.owe(tx, {
        action: 'SETTINGS_CHANGE',
        result: 'SUCCESS',
        user: who.name,
        facts: {
          kind: 'mirror.rule',
          source: source.key,
          values: Object.fromEntries(values) as Record<string, string>,
        },
        ip: raw.clientIp,
      })
    })
    outbox.nudge()
    return {
      source_id: source.key,
      rule: {
        ...rule,
        names: [...rule.names],
        sections: [...rule.sections],
        priorities: [...rule.priorities],
        distributions: [...rule.distributions],
      },
    }
  },
  'GET /import/mirror/schedule': deps => scheduleOf(deps),
  'POST /import/mirror/schedule': async (deps, { body, who, raw }) => {
    const patched = await deps.settings.patch({ mirror: body })
    await recordChange(deps.audit, patched, { user: who.name, ip: raw.clientIp })
    return scheduleOf(deps)
  },
  'POST /import/mirror/start/{source_id}': async (deps, { params, query, who, viewer, raw }) => {
    const { db, repositories, worker } = deps
    const source = await sourceOf(deps, viewer, params.source_id)
    const lists = listsOf(source, await readRule(db, source.id), repositories)
    const codenames = [...new Set(lists.map(({ codename }) => codename))]
    if (codenames.length === 0) fail('mirror_no_distribution', { source: source.key })
    if (!isActive(source)) fail('mirror_source_off', { source: source.key })
    const frozen = new Set((await listFrozen(db)).map(({ codename }) => codename))
    if (codenames.every(codename => frozen.has(codename)))
      fail('mirror_frozen', { source: source.key, codenames: codenames.join(', ') })
    const open = await findOpenMirror(db)
    if (open !== undefined && open.target !== source.key)
      fail('mirror_running', { job: open.id, running: open.target, source: source.key })
    const { id, isNew } =
      open === undefined
        ? await worker.ask({
            kind: MIRROR,
            target: source.key,
            request: {
              source: source.key,
              ip: raw.clientIp,
              ...(query.limit === undefined ? {} : { limit: query.limit }),
            },
            codenames,
            by: who.name,
            requestId: raw.requestId,
          })
        : { id: open.id, isNew: false }
    const { job_id, label, status, total } = await jobOf(deps, viewer, id)
    return { job_id, label, status, total, already_running: !isNew }
  },
  'GET /import/mirror/jobs': async ({ db }, { viewer }) => ({ jobs: (await listMirrorJobs(db, viewer)).map(jobView) }),
  'GET /import/mirror/jobs/{id}': (deps, { params, viewer }) => jobOf(deps, viewer, params.id),
  'POST /import/mirror/jobs/{id}/cancel': async (deps, { params: { id }, viewer, who, raw }) => {
    await jobOf(deps, viewer, id)
    const cancelled = await deps.worker.cancel(id, who.name)
    const { status, label } = await jobOf(deps, viewer, id)
    if (cancelled)
      await deps.audit.record({
        action: 'JOB_CANCEL',
        result: 'SUCCESS',
        user: who.name,
        facts: { kind: 'job.cancelled', job: id, work: label },
        ip: raw.clientIp,
      })
    const message = cancelled
      ? 'It ends as soon as the files it is at are through. What it brought stays, and the next run goes on.'
      : 'It has ended already, or was cancelled before.'
    return { job_id: id, cancelled, status, message }
  },
  'GET /import/mirror/jobs/{id}/stream': async (deps, { params: { id }, query, viewer, raw }) => {
    await jobOf(deps, viewer, id) // a refusal, before the stream begins
    return jobLines(deps, { id, after: query.from_index ?? 0, signal: raw.signal })
  },
  ...distributionHandlers,
}
