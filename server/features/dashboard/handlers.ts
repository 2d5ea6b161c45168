import { pageOf } from '../../catalog/page.ts'
import type { Handlers, StreamEvent } from '../../core/contract.ts'
import { maySee, type Viewer } from '../../core/viewer.ts'
import { isoNow, type Clock } from '../../lib/clock.ts'
import type { Events } from '../../record/events.ts'
import type { dashboard } from './contract.ts'
import type { Dashboard } from './dashboard.ts'
import { DAYS } from './stats.ts'

export interface DashboardRouteDeps {
  readonly dashboard: Dashboard
  readonly events: Pick<Events, 'follow'>
  readonly clock: Clock
}

/** `hello` has no id, so that a client that is cut off right after it still resumes from what it saw last. */
async function* live(
  { events, clock }: DashboardRouteDeps,
  viewer: Viewer,
  { lastId, signal }: { readonly lastId: string | undefined; readonly signal: AbortSignal },
): AsyncGenerator<StreamEvent> {
  const following = events.follow(lastId, signal) // from here on nothing is missed
  const isSeen = ({
    codename,
    distribution,
  }: {
    readonly codename?: unknown
    readonly distribution?: unknown
  }): boolean => maySee(viewer, String(codename ?? distribution))
  yield { event: 'hello', data: { at: isoNow(clock), resumed: lastId !== undefined } }
  for await (const { id, event } of following) if (isSeen(event.data)) yield { id, event: event.type, data: event }
}

export const dashboardHandlers: Handlers<typeof dashboard, DashboardRouteDeps> = {
  'GET /dashboard/summary': ({ dashboard: board }, { viewer }) => board.summary(viewer),
  'GET /dashboard/stats': ({ dashboard: board }, { viewer }) => board.stats(viewer),
  'GET /dashboard/stats/enriched': ({ dashboard: board }, { viewer }) => board.enriched(viewer),
  'GET /dashboard/gate': ({ dashboard: board }, { query, viewer }) => board.gate(viewer, query.days ?? DAYS),
  'GET /dashboard/history': async ({ dashboard: board }, { query, viewer }) => {
    const paging = { page: query.page ?? 1, perPage: query.per_page ?? 50 }
    const days = query.days ?? DAYS
    const [{ items, total }, activity] = await Promise.all([
      board.history(viewer, { ...paging, ...(query.package ? { package: query.package } : {}) }),
      board.activity(viewer, days),
    ])
    return { ...pageOf(items, total, paging), history: activity.days, counted_since: activity.since, days }
  },
  'GET /dashboard/events': (deps, { query, viewer, raw }) => {
    const header = raw.headers['last-event-id']
    const lastId = query.last_event_id ?? (typeof header === 'string' ? header : undefined)
    return live(deps, viewer, { lastId: lastId === '' ? undefined : lastId, signal: raw.signal })
  },
}
