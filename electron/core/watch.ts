import type { WireEvent } from '../../ui/sse.ts'
import type { HealthReport } from '../../server/features/health/health.ts'
import type { Appliances } from './appliances.ts'
import type { ConnectionState } from './bridge.ts'
import type { Connections } from './connections.ts'
import { readDeadlines, readJob, readWaiting, type Reader } from './asked.ts'
import { followEvents, type EventStream } from './event-stream.ts'
import type { Notices } from './notices.ts'
import { headerOf, readJson, Untrusted } from './pinned-client.ts'
import type { Clock } from './ports.ts'
import type { Sessions } from './sessions.ts'

/** Keeps an eye on every appliance: whether it is well, what waits, what happened. */
export interface Watch {
  /** Asks all of them now, and opens their streams anew: after the computer slept, or the network came back. */
  wake(): void
  /** Begins and ends with the list of appliances. */
  follow(): void
  stop(): void
}

const HEALTH_MS = 30_000
const DEADLINES_MS = 15 * 60_000
const PATIENCE_MS = 10_000

export interface WatchNeeds {
  readonly connections: Connections
  readonly appliances: Appliances
  readonly sessions: Sessions
  readonly notices: Notices
  readonly clock: Clock
}

const STATES: Readonly<Record<HealthReport['status'], ConnectionState>> = {
  healthy: 'healthy',
  degraded: 'degraded',
  unhealthy: 'unhealthy',
}
const isReport = (body: unknown): body is HealthReport =>
  typeof body === 'object' &&
  body !== null &&
  'status' in body &&
  Object.hasOwn(STATES, String((body as { status: unknown }).status)) &&
  typeof (body as { version?: unknown }).version === 'string'

/** How far the server's clock is ahead, in seconds; its header has whole ones, so less than two are none. */
function clockAhead(date: string | undefined, before: Date, after: Date): number | null {
  const told = Date.parse(date ?? '')
  if (!Number.isFinite(told)) return null
  const ahead = Math.round((told + 500 - (before.getTime() + after.getTime()) / 2) / 1000)
  return Math.abs(ahead) < 2 ? 0 : ahead
}

export function createWatch({ connections, appliances, sessions, notices, clock }: WatchNeeds): Watch {
  const streams = new Map<string, EventStream>()
  const stops: (() => void)[] = []
  const toldJobs = new Set<string>()
  const toldDeadlines = new Set<string>()

  const readerOf =
    (id: string): Reader =>
    async path => {
      const token = await sessions.find(id)
      if (token === undefined) return undefined
      const answer = await appliances.request(id, {
        method: 'GET',
        path: `/api/v1${path}`,
        headers: { accept: 'application/json', authorization: `Bearer ${token}` },
        silenceMs: PATIENCE_MS,
      })
      if (answer.statusCode === 401) await sessions.forgetToken(id, token)
      if (answer.statusCode !== 200) {
        answer.resume()
        return undefined
      }
      return readJson(answer)
    }

  const turns = new Map<string, number>()
  /** The public report of its health. An answer that comes after a later question was asked says nothing any more. */
  async function askHealth(id: string): Promise<void> {
    const before = clock.now()
    const turn = (turns.get(id) ?? 0) + 1
    turns.set(id, turn)
    const isOver = (): boolean => turns.get(id) !== turn || connections.find(id) === undefined
    try {
      const answer = await appliances.request(id, { method: 'GET', path: '/health', silenceMs: PATIENCE_MS })
      const clockAheadS = clockAhead(headerOf(answer.headers, 'date'), before, clock.now())
      const body = await readJson(answer).catch(() => undefined)
      if (isOver()) return
      if (!isReport(body)) {
        // an early answer while it starts, or a proxy in front of a service that is down
        const isStarting = answer.statusCode === 503
        appliances.note(id, {
          state: isStarting ? 'starting' : 'unreachable',
          said: isStarting ? 'It is starting.' : `It answers ${answer.statusCode}, and not as Gatehouse does.`,
          clockAheadS,
        })
        return
      }
      await connections.change(id, { version: body.version.slice(0, 100), reachedAt: clock.now().toISOString() })
      appliances.note(id, { state: STATES[body.status], said: null, clockAheadS })
    } catch (error) {
      if (!(error instanceof Untrusted) && !isOver())
        appliances.note(id, { state: 'unreachable', said: 'It does not answer.' })
    }
  }
  async function askWaiting(id: string): Promise<void> {
    appliances.note(id, { waiting: (await readWaiting(readerOf(id))) ?? null })
  }
  async function ask(id: string): Promise<void> {
    const token = await sessions.find(id)
    appliances.note(id, { isSignedIn: token !== undefined, ...(token === undefined ? { waiting: null } : {}) })
    await askHealth(id)
    if (token !== undefined) await askWaiting(id)
  }
  const quietly = (work: Promise<unknown>): void => void work.catch(() => undefined) // the standing says what is wrong

  function nameOf(id: string): { id: string; name: string } {
    return { id, name: connections.find(id)?.name ?? '' }
  }
  async function hearJob(id: string, job: string): Promise<void> {
    const ended = await readJob(readerOf(id), job)
    if (ended === undefined || toldJobs.has(`${id} ${job}`)) return
    toldJobs.add(`${id} ${job}`)
    notices.happened({ ...ended, appliance: nameOf(id) })
  }
  function hear(id: string, { event, data }: WireEvent): void {
    if (event === 'hello') return quietly(ask(id))
    let told: { data?: Readonly<Record<string, unknown>> }
    try {
      told = JSON.parse(data) as typeof told
    } catch {
      return // not a server of ours
    }
    const facts = told.data ?? {}
    if (event === 'job' && typeof facts.job === 'string') quietly(hearJob(id, facts.job))
    if (event !== 'package.state') return
    if (facts.state === 'pending_review')
      notices.happened({
        kind: 'held',
        appliance: nameOf(id),
        subject: `${String(facts.name)} ${String(facts.version)}`,
        isBad: false,
      })
    quietly(askWaiting(id))
  }
  async function askDeadlines(id: string): Promise<void> {
    for (const { key, subject } of await readDeadlines(readerOf(id), clock.now())) {
      if (toldDeadlines.has(`${id} ${key}`)) continue
      toldDeadlines.add(`${id} ${key}`)
      notices.happened({ kind: 'deadline', appliance: nameOf(id), subject, isBad: true })
    }
  }

  function begin(id: string): void {
    streams.set(
      id,
      followEvents({
        path: '/api/v1/dashboard/events',
        token: () => sessions.find(id),
        request: one => appliances.request(id, one),
        told: event => hear(id, event),
        refused: token => quietly(sessions.forgetToken(id, token)),
      }),
    )
    quietly(ask(id).then(() => askDeadlines(id)))
  }
  const all = (work: (id: string) => Promise<void>): void => {
    for (const { id } of connections.list()) quietly(work(id))
  }
  stops.push(
    clock.every(HEALTH_MS, () => all(ask)),
    clock.every(DEADLINES_MS, () => all(askDeadlines)),
  )
  sessions.onMoved(id => {
    if (connections.find(id) === undefined) return
    streams.get(id)?.wake()
    quietly(ask(id).then(() => askDeadlines(id)))
  })

  return {
    follow: () => {
      for (const { id } of connections.list()) if (!streams.has(id)) begin(id)
      for (const [id, stream] of streams)
        if (connections.find(id) === undefined) {
          stream.stop()
          streams.delete(id)
        }
    },
    wake: () => {
      for (const stream of streams.values()) stream.wake()
      all(ask)
    },
    stop: () => {
      for (const stop of stops) stop()
      for (const stream of streams.values()) stream.stop()
    },
  }
}
