import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { Type, type Static } from '@sinclair/typebox'
import type { Appliances } from './appliances.ts'
import { UPLOAD_PHASES, UploadForm, type AddFiles, type UploadsView, type UploadView } from './bridge.ts'
import { openKept } from './kept.ts'
import { Untrusted } from './pinned-client.ts'
import type { Clock } from './ports.ts'
import { Refusal } from './refusal.ts'
import type { Sessions } from './sessions.ts'
import { subjectOf } from './subject.ts'
import { sendUpload, UploadRefused } from './upload-send.ts'

const Item = Type.Object({
  id: Type.Integer({ minimum: 1 }),
  appliance: Type.String(),
  /** Whose file it is: nobody else's name may stand beside it in the audit log. */
  by: Type.String(),
  path: Type.String(),
  size: Type.Integer({ minimum: 0 }),
  format: Type.String(),
  form: UploadForm,
  phase: Type.Union(UPLOAD_PHASES.map(phase => Type.Literal(phase))),
  sent: Type.Integer({ minimum: 0 }),
  told: Type.Array(Type.Record(Type.String(), Type.Unknown())),
  result: Type.Unknown(),
  problem: Type.Union([
    Type.Object({
      status: Type.Integer(),
      code: Type.String(),
      message: Type.String(),
      limit: Type.Union([Type.Number(), Type.Null()]),
    }),
    Type.Null(),
  ]),
  finishedAt: Type.Union([Type.String(), Type.Null()]),
})
type Item = Static<typeof Item>
const File = Type.Object({ format: Type.Literal(1), next: Type.Integer({ minimum: 1 }), items: Type.Array(Item) })

const AT_ONCE = 2
/** How often a page hears of bytes that go. */
const TELL_MS = 200
const AWAY = new Set(['unreachable', 'changed', 'expired', 'wrong_name'])

/** Files on their way from this computer's disk. The queue outlives the page, and the program. */
export interface Uploads {
  view(appliance: string): UploadsView
  /** Puts files in the queue, in the name of who is signed in. @throws Refusal `not_signed_in` */
  add(appliance: string, files: AddFiles['files']): Promise<void>
  aim(appliance: string, ids: readonly number[], aim: Pick<Item, 'format' | 'form'>): void
  retry(appliance: string, ids: readonly number[]): void
  /** Takes files out; one that is on its way is stopped first. */
  remove(appliance: string, ids: readonly number[]): void
  pause(appliance: string, isPaused: boolean): void
  /** Starts what may start now: after a sign-in, when an appliance is back. */
  pump(): void
  /** Forgets the files of an appliance that was removed. */
  forget(appliance: string): void
  onMoved(listener: (appliance: string) => void): void
  /** Stops what is on its way; it begins again with the next start. */
  stop(): Promise<void>
  readonly warning: string | undefined
}

interface Needs {
  readonly path: string
  readonly clock: Clock
  readonly sessions: Sessions
  readonly appliances: Appliances
}
interface Pause {
  readonly until: Date
  readonly limit: number | null
}

export async function openUploads({ path, clock, sessions, appliances }: Needs): Promise<Uploads> {
  const kept = await openKept(path, File, { format: 1, next: 1, items: [] })
  // what was on its way when the program ended begins again
  let items: Item[] = kept.value.items.map(item =>
    item.phase === 'sending' || item.phase === 'at_server' ? { ...item, phase: 'waiting', sent: 0, told: [] } : item,
  )
  let next = kept.value.next
  const running = new Map<number, AbortController>()
  const held = new Set<string>()
  const pauses = new Map<string, Pause>()
  const listeners = new Set<(appliance: string) => void>()
  const due = new Set<string>()
  let isStopped = false

  const write = (): Promise<void> => kept.set({ format: 1, next, items })
  function tell(appliance: string): void {
    for (const listener of listeners) listener(appliance)
  }
  /** Bytes go by the thousand; pages hear of them a few times a second. */
  function tellSoon(appliance: string): void {
    if (due.has(appliance)) return
    due.add(appliance)
    clock.after(TELL_MS, () => {
      due.delete(appliance)
      tell(appliance)
    })
  }
  function patch(id: number, change: Partial<Item>): void {
    items = items.map(item => (item.id === id ? { ...item, ...change } : item))
  }
  function settle(appliance: string): void {
    void write().catch(() => undefined) // the queue lives on in memory; the disk is full or read-only
    tell(appliance)
    pump()
  }

  function pauseFor(appliance: string, seconds: number, limit: number | null): void {
    pauses.set(appliance, { until: new Date(clock.now().getTime() + seconds * 1000), limit })
    clock.after(seconds * 1000, () => {
      pauses.delete(appliance)
      tell(appliance)
      pump()
    })
  }
  /** What becomes of a file that was not taken. */
  function failed(item: Item, token: string, error: unknown): void {
    if (error instanceof Untrusted) return patch(item.id, { phase: 'waiting', sent: 0 })
    if (!(error instanceof UploadRefused)) return patch(item.id, { phase: 'waiting', sent: 0, told: [] })
    const { status, code, message, limit, retryAfter } = error.problem
    if (status === 401) {
      patch(item.id, { phase: 'waiting', sent: 0 })
      void sessions.forgetToken(item.appliance, token)
    } else if (status === 429) {
      patch(item.id, { phase: 'waiting', sent: 0 })
      pauseFor(item.appliance, retryAfter ?? 60, limit)
    } else
      patch(item.id, {
        phase: 'failed',
        problem: { status, code, message, limit },
        finishedAt: clock.now().toISOString(),
      })
  }

  async function run(item: Item, token: string, abort: AbortController): Promise<void> {
    const { id, appliance, form } = item
    patch(id, { phase: 'sending', sent: 0, told: [], problem: null, result: null, finishedAt: null })
    tell(appliance)
    try {
      const result = await sendUpload({
        path: item.path,
        fields: { distribution: form.distribution, ...(form.component === '' ? {} : { component: form.component }) },
        token,
        signal: abort.signal,
        request: ask => appliances.request(appliance, ask),
        progress: (sent, size) => {
          patch(id, { sent, size, ...(sent === size ? { phase: 'at_server' } : {}) })
          tellSoon(appliance)
        },
        told: event => {
          patch(id, { phase: 'at_server', told: [...(items.find(one => one.id === id)?.told ?? []), event] })
          tell(appliance)
        },
      })
      patch(id, { phase: 'done', result, finishedAt: clock.now().toISOString() })
    } catch (error) {
      failed(item, token, error)
    } finally {
      running.delete(id)
    }
    settle(appliance)
  }

  const mayStart = (item: Item): boolean =>
    item.phase === 'waiting' &&
    item.form.distribution !== '' &&
    !running.has(item.id) &&
    !held.has(item.appliance) &&
    !pauses.has(item.appliance) &&
    !AWAY.has(appliances.view(item.appliance).state)

  async function pumpOne(appliance: string): Promise<void> {
    const token = await sessions.find(appliance)
    if (token === undefined || isStopped) return
    const who = subjectOf(token)
    for (const item of items) {
      if (item.appliance !== appliance || item.by !== who || !mayStart(item)) continue
      if (items.filter(one => one.appliance === appliance && running.has(one.id)).length >= AT_ONCE) return
      const abort = new AbortController()
      running.set(item.id, abort)
      void run(item, token, abort)
    }
  }
  function pump(): void {
    for (const appliance of new Set(items.map(item => item.appliance))) void pumpOne(appliance)
  }

  function viewOf({ appliance: _, by: __, path: from, finishedAt, ...item }: Item): UploadView {
    return { ...item, name: basename(from), finished_at: finishedAt }
  }
  const mine = (appliance: string, ids: readonly number[]): Item[] =>
    items.filter(item => item.appliance === appliance && ids.includes(item.id))
  function remove(gone: readonly Item[]): void {
    const ids = new Set(gone.map(({ id }) => id))
    items = items.filter(({ id }) => !ids.has(id))
    for (const id of ids) running.get(id)?.abort()
  }

  return {
    warning: kept.warning,
    pump,
    view: appliance => {
      const pause = pauses.get(appliance)
      return {
        items: items.filter(item => item.appliance === appliance).map(viewOf),
        is_paused: held.has(appliance),
        paused_until: pause?.until.toISOString() ?? null,
        limit_per_minute: pause?.limit ?? null,
      }
    },
    add: async (appliance, files) => {
      const token = await sessions.find(appliance)
      if (token === undefined)
        throw new Refusal('not_signed_in', 'Nobody is signed in on this appliance. Sign in, and add the files again.')
      const by = subjectOf(token)
      // what another person left here is gone with that person
      remove(items.filter(item => item.appliance === appliance && item.by !== by))
      for (const { path: from, format, form } of files) {
        const size = statSync(from, { throwIfNoEntry: false })?.size ?? 0
        items.push({
          ...{
            id: next++,
            appliance,
            by,
            path: from,
            size,
            format,
            form,
            phase: 'waiting' as const,
            sent: 0,
            told: [],
          },
          ...{ result: null, problem: null, finishedAt: null },
        })
      }
      settle(appliance)
    },
    aim: (appliance, ids, aim) => {
      for (const { id, phase } of mine(appliance, ids)) if (phase === 'waiting' || phase === 'failed') patch(id, aim)
      settle(appliance)
    },
    retry: (appliance, ids) => {
      for (const { id, phase } of mine(appliance, ids))
        if (phase === 'failed') patch(id, { phase: 'waiting', problem: null, sent: 0, told: [], finishedAt: null })
      settle(appliance)
    },
    remove: (appliance, ids) => {
      remove(mine(appliance, ids))
      settle(appliance)
    },
    pause: (appliance, isPaused) => {
      if (isPaused) {
        held.add(appliance)
        // bytes that are on their way begin again; what is at the gate goes on
        for (const item of items)
          if (item.appliance === appliance && item.phase === 'sending') running.get(item.id)?.abort()
      } else held.delete(appliance)
      settle(appliance)
    },
    forget: appliance => {
      remove(items.filter(item => item.appliance === appliance))
      void write().catch(() => undefined)
    },
    onMoved: listener => {
      listeners.add(listener)
    },
    stop: async () => {
      isStopped = true
      for (const abort of running.values()) abort.abort()
      await write()
    },
  }
}
