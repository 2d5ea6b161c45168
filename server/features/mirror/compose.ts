import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { WorkKind } from '../../core/work.ts'
import type { Layout } from '../../files/layout.ts'
import { getFormat } from '../../formats/index.ts'
import type { SyncResult } from '../../imports/catalogue/outcome.ts'
import type { SyncMany } from '../../imports/catalogue/sync-many.ts'
import { listsOf } from '../../imports/mirror/lists.ts'
import { listReports } from '../../imports/mirror/report.ts'
import { readRule } from '../../imports/mirror/rules.ts'
import type { MirrorDeps } from '../../imports/mirror/run.ts'
import { MIRROR, mirrorWork } from '../../imports/mirror/work.ts'
import { isActive } from '../../imports/source-rules.ts'
import { space } from '../../lib/disk-space.ts'
import { mirror } from './contract.ts'
import type { MirrorRouteDeps } from './deps.ts'
import { mirrorHandlers } from './handlers.ts'
import { dailyBy } from '../../settings/daily.ts'

export interface MirrorNeeds
  extends
    Omit<MirrorRouteDeps, 'formatOf' | 'nextRun' | 'worker'>,
    Pick<MirrorDeps, 'clock' | 'planner' | 'notices' | 'worker'> {
  readonly layout: Pick<Layout, 'root'>
  readonly syncMany: SyncMany
  readonly worker: MirrorDeps['worker']
  readonly nextRun: (id: string) => string | null
}

const JOB = 'mirror'

/** Mirrors: their routes, their jobs, and the one of the night. */
export function composeMirror(needs: MirrorNeeds): Feature {
  const { db, clock, settings, layout, syncMany, worker, repositories, listSources, nextRun } = needs
  const work = mirrorWork({
    ...needs,
    formatOf: getFormat,
    bounds() {
      const { mirror: own, disk } = settings.now()
      return { ...own, min_free_disk_gb: Math.max(own.min_free_disk_gb, disk.min_free_disk_gb) }
    },
    freeBytes: async () => (await space(layout.root)).freeBytes,
    async synchronise(source, signal) {
      let found: SyncResult | undefined
      await syncMany([source], { signal, ended: async (_, result) => void (found = result) })
      if (found === undefined) throw new Error(`the synchronisation of ${source.key} has ended without a result`)
      return { state: found.state, said: found.said }
    },
  })

  /** One job for each source, in turn: those first that have waited longest. Who has no time left waits a night. */
  async function askAll(): Promise<void> {
    const { sources: on, max_runtime_minutes: minutes } = settings.now().mirror
    const until = new Date(clock.now().getTime() + minutes * 60_000).toISOString()
    const reports = await listReports(db)
    const endOf = (id: number): string => reports.get(id)?.ended_at ?? ''
    const sources = (await listSources())
      .filter(source => isActive(source) && on[source.key] === true)
      .toSorted((a, b) => (endOf(a.id) < endOf(b.id) ? -1 : 1))
    for (const source of sources) {
      const lists = listsOf(source, await readRule(db, source.id), repositories)
      const codenames = [...new Set(lists.map(({ codename }) => codename))]
      if (codenames.length > 0)
        await worker.ask({
          kind: MIRROR,
          target: source.key,
          request: { source: source.key, until },
          codenames,
          by: 'system',
        })
    }
  }

  return {
    routes: bind(mirror, mirrorHandlers, { ...needs, formatOf: getFormat, nextRun: () => nextRun(JOB) }),
    work: [work as WorkKind],
    jobs: [
      {
        id: JOB,
        name: 'Mirror sources',
        ...dailyBy(settings, 'mirror'),
        daily: true,
        run: askAll,
      },
    ],
  }
}
