import { fail } from '../../core/errors.ts'
import type { Run, WorkKind } from '../../core/work.ts'
import { cancelledBy } from '../run/asked.ts'
import { listChanged } from '../run/changed.ts'
import type { Source } from '../source.ts'
import { listFrozen } from './frozen.ts'
import { keyOf, listsOf } from './lists.ts'
import { mirrorList } from './mirror-list.ts'
import {
  NOTHING,
  saveReport,
  sayReport,
  type MirrorEnd,
  type MirrorReport,
  type Tally,
  type Trouble,
} from './report.ts'
import { readRule } from './rules.ts'
import type { MirrorCursor, MirrorDeps, MirrorRequest } from './run.ts'
import { listGone, type MirrorList } from './wanted.ts'

export const MIRROR = 'mirror'

const START = { done: [], taken: 0, bytes: 0, tally: NOTHING, asked: 0, remaining: 0 }

const unique = (names: readonly string[]): string[] => [...new Set(names)]

/** Brings what a source lists, piece by piece. */
export function mirrorWork(deps: MirrorDeps): WorkKind<MirrorRequest, MirrorCursor, MirrorReport> {
  const { db, clock, audit, notices, repositories } = deps

  async function begin(run: Run<MirrorCursor>, source: Source, request: MirrorRequest): Promise<MirrorCursor> {
    const bounds = deps.bounds()
    const started = clock.now()
    const { state, said } = await deps.synchronise(source, run.signal)
    const cursor: MirrorCursor = {
      started_at: started.toISOString(),
      until: request.until ?? new Date(started.getTime() + bounds.max_runtime_minutes * 60_000).toISOString(),
      limit: request.limit ?? bounds.max_packages_per_run,
      synchronised: { state, said },
      ...START,
    }
    const message =
      state === 'ok'
        ? `${source.label} was synchronised.`
        : `${source.label} could not be synchronised, so its older list is used. ${said ?? state}`
    await run.step({ cursor, done: 0, say: [{ level: state === 'ok' ? 'info' : 'warning', message }] })
    return cursor
  }

  async function report(
    run: Run<MirrorCursor>,
    {
      source,
      end,
      cursor,
      lists,
      frozen,
    }: {
      source: Source
      end: MirrorEnd
      cursor: MirrorCursor
      lists: readonly MirrorList[]
      frozen: readonly string[]
    },
  ): Promise<MirrorReport> {
    const distributions = unique(lists.map(({ codename }) => codename))
    const gone: { distribution: string; name: string; version: string; arch: string }[] = []
    const changed: Trouble[] = []
    for (const distribution of distributions) {
      gone.push(...(await listGone(db, source, distribution)).map(one => ({ distribution, ...one })))
      const of = { codename: distribution, format: deps.formatOf(source.format), sources: [source.id] }
      for (const { name, version, arch, said: why } of await listChanged(db, of))
        changed.push({ distribution, name, version, arch, status: 'upstream_changed', why })
    }
    return {
      ...cursor.tally,
      source_id: source.key,
      label: source.label,
      job_id: run.id,
      by: run.by,
      started_at: cursor.started_at,
      ended_at: clock.now().toISOString(),
      end,
      message: sayReport(source.label, end, cursor.tally, { gone: gone.length, changed: changed.length }),
      synchronised: cursor.synchronised,
      distributions,
      frozen,
      bytes: cursor.bytes,
      remaining: cursor.remaining,
      gone_count: gone.length,
      gone: gone.slice(0, 100),
      changed_count: changed.length,
      changed: changed.slice(0, 100),
    }
  }

  /** The time of the night was over before its turn: it is among the first of the next. */
  async function neverBegun(
    run: Run<MirrorCursor>,
    source: Source,
    { lists, until }: { lists: readonly MirrorList[]; until: string },
  ): Promise<MirrorReport> {
    const message = `${source.label} had no turn: the time of this night was over. The next night begins with it.`
    await run.step({ say: [{ level: 'warning', message }] })
    const at = clock.now().toISOString()
    const synchronised = { state: 'never', said: null } as const
    const cursor = { ...START, started_at: at, until, limit: 0, synchronised }
    return { ...(await report(run, { source, end: 'time', cursor, lists, frozen: [] })), message }
  }

  /** Report, audit line and message, once for each run. */
  async function keep(
    source: Source,
    made: MirrorReport,
    step?: Run<MirrorCursor>['step'],
    ip?: string,
  ): Promise<void> {
    const { added, pending, blocked, errors, end } = made
    await db.tx(async tx => {
      if (!(await saveReport(tx, source.id, made))) return
      await audit.owe(tx, {
        action: 'MIRROR',
        result: made.synchronised.state === 'ok' && errors + blocked === 0 && end !== 'disk' ? 'SUCCESS' : 'WARNING',
        user: made.by,
        facts: { kind: 'source.mirrored', source: source.key, end, added, pending, blocked, failed: errors },
        ...(ip === undefined ? {} : { ip }),
      })
      await notices.owe(tx, {
        event: 'mirror.finished',
        source: source.label,
        result: failed(made) ? 'failure' : 'success',
        packages: added + pending,
        detail: made.message,
      })
      await step?.({ say: [{ level: 'info', message: made.message }] }, tx)
    })
  }

  return {
    kind: MIRROR,
    name: 'Mirror a source',
    see: 'any',
    cancel: 'maintainer+',
    async run(run, request) {
      const all = await deps.listSources()
      const source =
        all.find(({ key }) => key === request.source) ?? fail('source_not_found', { source: request.source })
      const rule = await readRule(db, source.id)
      const lists = listsOf(source, rule, repositories)
      if (!source.enabled) fail('mirror_source_off', { source: source.key })
      if (lists.length === 0) fail('mirror_no_distribution', { source: source.key })
      let frozen: readonly string[] = []
      if (run.cursor === undefined && request.until !== undefined && clock.now().toISOString() >= request.until)
        return neverBegun(run, source, { lists, until: request.until })
      let cursor = run.cursor ?? (await begin(run, source, request))
      try {
        let end: MirrorEnd | undefined
        for (const list of lists) {
          if (end !== undefined || cursor.done.includes(keyOf(list))) continue
          const went = await mirrorList(deps, run, { source, all, rule, list, cursor })
          cursor = went.cursor
          if (went.end !== undefined && went.end !== 'frozen') end = went.end
        }
        const stopped = new Set((await listFrozen(db)).map(({ codename }) => codename))
        frozen = unique(lists.map(({ codename }) => codename)).filter(codename => stopped.has(codename))
        end ??= frozen.length === unique(lists.map(one => one.codename)).length ? 'frozen' : 'complete'
        const made = await report(run, { source, end, cursor, lists, frozen })
        await keep(source, made, run.step, request.ip)
        return made
      } catch (error) {
        if (run.signal.aborted && (await cancelledBy(db, run.id)) !== undefined)
          await keep(
            source,
            await report(run, { source, end: 'cancelled', cursor, lists, frozen }),
            undefined,
            request.ip,
          )
        throw error
      }
    },
  }
}

const failed = ({ synchronised, added, pending, errors }: MirrorReport & Tally): boolean =>
  synchronised.state !== 'ok' || (errors > 0 && added + pending === 0)
