import { needBearer } from '../../core/bearer.ts'
import { WithStatus, type Handlers } from '../../core/contract.ts'
import { isoNow, type Clock } from '../../lib/clock.ts'
import type { Metrics } from '../../record/metrics.ts'
import type { health } from './contract.ts'
import type { Health } from './health.ts'
import type { Reader } from './public-viewer.ts'

export interface HealthRouteDeps {
  readonly health: Pick<Health, 'report' | 'ready'>
  readonly metrics: Pick<Metrics, 'text'>
  readonly clock: Clock
  /** The reader for this header; callers without one are allowed, since the reports are public. */
  readonly viewer: (authorization: string | undefined) => Promise<Reader>
  /** When set, `/metrics` answers only callers who send it. */
  readonly metricsToken: string | undefined
}

export const healthHandlers: Handlers<typeof health, HealthRouteDeps> = {
  'GET /health': async (deps, { raw }) => {
    const report = await deps.health.report(await deps.viewer(raw.headers.authorization))
    return report.status === 'unhealthy' ? new WithStatus(503, report) : report
  },
  'GET /health/live': ({ clock }) => ({ alive: true, status: 'ok', timestamp: isoNow(clock) }),
  'GET /health/ready': async (deps, { raw }) => {
    const report = await deps.health.ready(await deps.viewer(raw.headers.authorization))
    return report.ready ? report : new WithStatus(503, report)
  },
  'GET /metrics': async ({ metrics, metricsToken }, { raw }) => {
    if (metricsToken !== undefined && metricsToken !== '') needBearer(metricsToken, raw.headers.authorization)
    return { body: Buffer.from(await metrics.text()), type: 'text/plain; version=0.0.4; charset=utf-8' }
  },
}
