import { fail, isRefusal } from '../../core/errors.ts'
import type { Run, Telling, WorkKind } from '../../core/work.ts'
import { isUnavailable } from '../../db/database-unavailable.ts'
import { bringIn } from '../mirror/bring.ts'
import { keyOf } from '../mirror/lists.ts'
import { NOTHING, type MirrorEnd } from '../mirror/report.ts'
import type { MirrorList } from '../mirror/wanted.ts'
import { cancelledBy } from '../run/asked.ts'
import type { Source } from '../source.ts'
import { listCovered, updatesFor, type Covered } from './covered.ts'
import { outcomeOf } from './outcome.ts'
import { barOwnBuilds } from './own-builds.ts'
import { partOf, resultOf, type Entry, type ReportPart, type RunEnd, type SecurityReport } from './report.ts'
import { keepReport } from './keep.ts'
import { SECURITY_UPDATES, type SecurityCursor, type SecurityDeps, type SecurityRequest } from './run.ts'
import { isComing } from './updates.ts'

const START = { done: [], dealt: [], taken: 0, bytes: 0, tally: NOTHING, asked: 0, remaining: 0 }

const LEFT: Readonly<Record<RunEnd, string>> = {
  complete: 'It was listed while the run was under way. The next run brings it.',
  packages:
    'The run had brought as many packages as security_updates.max_packages_per_run says. The next one goes on with it.',
  time: 'The run had lasted as long as security_updates.max_runtime_minutes says. The next one goes on with it.',
  disk: 'Less room would be free on the disk than the settings say. Make room, and the next run brings it.',
  cancelled: 'The run was cancelled. The next one goes on with it.',
  failed: 'The run could not go on. The next one begins with it.',
}

/** Brings newer versions of what is published here from sources of security updates, each with what it needs. */
export function securityWork(deps: SecurityDeps): WorkKind<SecurityRequest, SecurityCursor, SecurityReport> {
  const { db, clock, formatOf } = deps

  async function coveredBy({ distributions }: SecurityRequest): Promise<Covered[]> {
    const { covered } = await listCovered(deps)
    return distributions === undefined ? covered : covered.filter(({ codename }) => distributions.includes(codename))
  }

  /** Security sources are always asked, the others of the distributions where they were before. */
  async function synchronise(run: Run<SecurityCursor>, covered: readonly Covered[]) {
    const held = await deps.held()
    const wanted = covered.flatMap(({ sources }) => sources.filter(one => one.security || held.has(one.id)))
    const sources = [...new Map(wanted.map(source => [source.id, source])).values()]
    const ended: SecurityReport['synchronised'][number][] = []
    await deps.syncMany(sources, {
      signal: run.signal,
      ended: async ({ key, label, codenames }: Source, { state, said }) => {
        ended.push({ source_id: key, label, codenames, state, said })
        const say: Telling =
          state === 'ok'
            ? { level: 'info', message: `${label} was synchronised.` }
            : {
                level: 'warning',
                message: `${label} could not be synchronised, so its older list is used. ${said ?? state}`,
              }
        await run.step({ say: [say] })
      },
    })
    return ended.toSorted((a, b) => (a.source_id < b.source_id ? -1 : 1))
  }

  async function begin(run: Run<SecurityCursor>, covered: readonly Covered[]): Promise<SecurityCursor> {
    const bounds = deps.bounds()
    const started = clock.now()
    const cursor = {
      started_at: started.toISOString(),
      until: new Date(started.getTime() + bounds.max_runtime_minutes * 60_000).toISOString(),
      limit: bounds.max_packages_per_run,
      synchronised: await synchronise(run, covered),
      ...START,
    }
    await run.step({ cursor, done: 0 })
    return cursor
  }

  async function bringList(
    run: Run<SecurityCursor>,
    { one, list, cursor }: { one: Covered; list: MirrorList; cursor: SecurityCursor },
  ): Promise<{ cursor: SecurityCursor; end?: MirrorEnd }> {
    const sources = one.sources.map(({ id }) => id)
    const went = await bringIn(deps, run, {
      ...{ list, cursor },
      group: `security-${list.codename}`,
      async wanted(now) {
        const updates = await updatesFor(deps, one, list)
        const dealt = new Set(now.dealt)
        return { wanted: updates.filter(update => isComing(update) && !dealt.has(update.name)), cursor: now }
      },
      barred: async packages =>
        deps.ownBuilds() ? new Map() : barOwnBuilds(db, { ...list, sources }, packages, formatOf(list.format)),
      passed: async (_, now, through) => ({ ...now, dealt: [...now.dealt, ...through.map(({ name }) => name)] }),
    })
    if (went.end !== undefined && went.end !== 'frozen') return went
    const through = { ...went.cursor, dealt: [], done: [...went.cursor.done, keyOf(list)] }
    await run.step({ cursor: through })
    return { cursor: through }
  }

  async function partsOf(
    run: Run<SecurityCursor>,
    { covered, cursor, end }: { covered: readonly Covered[]; cursor: SecurityCursor; end: RunEnd },
  ): Promise<ReportPart[]> {
    const parts: ReportPart[] = []
    // as it is now: it may have been frozen meanwhile
    const after = new Map((await listCovered(deps)).covered.map(one => [one.codename, one]))
    for (const { codename, ...before } of covered) {
      const one = after.get(codename) ?? { codename, ...before }
      const [first] = one.lists
      if (first === undefined) continue
      const updates = []
      for (const list of one.lists) updates.push(...(await updatesFor(deps, one, list)))
      const entries: readonly Entry[] = await outcomeOf(db, {
        ...{ jobId: run.id, codename, updates, left: LEFT[end] },
        format: formatOf(first.format),
        troubles: cursor.tally.troubles,
      })
      parts.push(partOf(codename, one.isFrozen, entries))
    }
    return parts
  }

  async function reportOf(
    run: Run<SecurityCursor>,
    of: { covered: readonly Covered[]; cursor: SecurityCursor; end: RunEnd; error?: string },
  ): Promise<SecurityReport> {
    const { cursor, end, error = null } = of
    const { started_at: started, synchronised, bytes } = cursor
    const made = { synchronised, parts: await partsOf(run, of), end }
    return {
      job_id: run.id,
      by: run.by,
      started_at: started,
      ended_at: clock.now().toISOString(),
      ...{ bytes, error },
      ...made,
      result: resultOf(made),
    }
  }

  return {
    kind: SECURITY_UPDATES,
    name: 'Bring security updates',
    see: 'any',
    cancel: 'maintainer+',
    async run(run, request) {
      const covered = await coveredBy(request)
      if (covered.length === 0 && request.distributions !== undefined)
        fail('security_no_source', { codenames: request.distributions.join(', ') })
      let cursor: SecurityCursor = run.cursor ?? {
        ...{ started_at: clock.now().toISOString(), until: '', limit: 0, synchronised: [] },
        ...START,
      }
      try {
        cursor = run.cursor ?? (await begin(run, covered))
        let end: MirrorEnd | undefined
        for (const one of covered)
          for (const list of one.lists) {
            if (end !== undefined || cursor.done.includes(keyOf(list))) continue
            const went = await bringList(run, { one, list, cursor })
            cursor = went.cursor
            end = went.end
          }
        const made = await reportOf(run, {
          covered,
          cursor,
          end: end === undefined || end === 'frozen' ? 'complete' : end,
        })
        await keepReport(deps, { report: made, tally: cursor.tally }, run.step)
        return made
      } catch (error) {
        const isCancelled = run.signal.aborted && (await cancelledBy(db, run.id)) !== undefined
        const keep = async (how: { end: RunEnd; error?: string }): Promise<void> =>
          keepReport(deps, { report: await reportOf(run, { covered, cursor, ...how }), tally: cursor.tally })
        if (isCancelled) await keep({ end: 'cancelled' })
        else if (!run.signal.aborted && !isUnavailable(error)) {
          const why = isRefusal(error) ? error.message : `The log of the service says why, under the job ${run.id}.`
          await keep({ end: 'failed', error: why })
        }
        throw error
      }
    },
  }
}
