import { setTimeout as wait } from 'node:timers/promises'
import { allows } from '../../core/access.ts'
import type { Handlers } from '../../core/contract.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Clock } from '../../lib/clock.ts'
import type { downloads, DownloadStats } from './contract.ts'
import type { SeenClients } from './seen-clients.ts'

export interface DownloadRouteDeps {
  readonly clock: Clock
  /** Counts what is new, unless that was done a moment ago. */
  readonly fresh: () => Promise<void>
  readonly stats: (
    viewer: Viewer,
    question: { readonly days: number; readonly isWhole: boolean; readonly most?: number | undefined },
  ) => Promise<DownloadStats>
  /** Who asked for an index, and the log that the settings name. */
  readonly clients: (since: string) => Promise<{ readonly log: string; readonly seen: SeenClients }>
}

const DAYS = 30
/** Whoever asks does not wait for the counting of a long log: the answer has what is counted by then. */
const PATIENCE_MS = 1_000

export const downloadHandlers: Handlers<typeof downloads, DownloadRouteDeps> = {
  'GET /downloads/stats': async ({ fresh, stats }, { query, who, viewer }) => {
    const done = new AbortController()
    await Promise.race([
      fresh().finally(() => done.abort()),
      wait(PATIENCE_MS, undefined, { signal: done.signal }).catch(() => undefined),
    ])
    return stats(viewer, {
      days: query.days ?? DAYS,
      isWhole: allows('auditor+', who.role),
      most: query.most,
    })
  },
  'GET /downloads/clients': async ({ clients }, { query }) => {
    const { log, seen } = await clients(query.since)
    return {
      known: seen.known,
      why: seen.known ? null : seen.why,
      log: log === '' ? null : log,
      clients: seen.known ? seen.clients : [],
    }
  },
}
