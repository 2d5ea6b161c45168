import { ApiProblem, toProblem } from './api.ts'
import { liveState } from './live.svelte.ts'
import { sendFile, type Watch, type Way } from './send.ts'
import { currentSession } from './session.svelte.ts'
import { bytes } from './show.ts'

/**
 * `waiting` its turn, `sending` bytes, `at_server` until the answer, `done` with it, `failed` with a problem, or
 * `unsent` because it cannot succeed.
 */
export type Phase = 'waiting' | 'sending' | 'at_server' | 'done' | 'failed' | 'unsent'

/** A file, or what is known of one that the desktop program reads from disk. */
export type Sent = Pick<File, 'name' | 'size'>

/** One file on its way. */
export interface Parcel<Answer> {
  readonly id: number
  readonly file: Sent
  phase: Phase
  sent: number
  result: Answer | undefined
  problem: ApiProblem | undefined
  finishedAt: Date | undefined
  abort: AbortController | undefined
}
type Item<Answer, More> = Parcel<Answer> & More

export interface Sender<Answer, More> {
  readonly items: Item<Answer, More>[]
  /** No file is sent before this moment: the limit of uploads a minute was met. */
  readonly pausedUntil: Date | undefined
  readonly limitPerMinute: number | undefined
  /** The largest file that is taken, where it is known. */
  limitMb: number | undefined
  /** Puts a file in the queue. What is too large is never sent. */
  add(file: File, more: More): void
  /** Changes what is known of a file that has not been sent. */
  change(item: Item<Answer, More>, more: Partial<More>): void
  /** While it is paused nothing is sent; what is at the server goes on. */
  isPaused: boolean
  /** Starts what may start now. */
  pump(): void
  /** Takes a file out; one that is on its way is stopped first. */
  remove(item: Parcel<Answer>): void
  /** Sends again what failed and what the same file may survive. */
  retry(items: readonly Item<Answer, More>[], change?: Partial<More>): void
  clearFinished(): void
  /** How many files are on their way, or will be without anybody doing anything. */
  atWork(): number
}

interface Rules<Answer, More> {
  readonly atOnce: number
  /** The setting that limits the size, as the refusal names it. */
  readonly setting: string
  /** True when all is known that the file needs. */
  readonly isReady?: (item: Item<Answer, More>) => boolean
  readonly wayOf: (item: Item<Answer, More>) => Way
  readonly began?: (item: Item<Answer, More>) => void
  readonly finished?: (item: Item<Answer, More>) => void
}

/** Refusals that are about the file itself: sending it again changes nothing. */
const FINAL = new Set([
  'bad_package',
  'digest_mismatch',
  'duplicate_conflict',
  'older_database',
  'unknown_format',
  'upload_too_large',
  'wrong_arch',
])

/** True for a failure that the same file may survive. */
export function canRetry({ phase, problem }: Parcel<unknown>): boolean {
  return phase === 'failed' && !FINAL.has(problem?.code ?? '')
}

/** True for what no retry would change: it only stands in the list. */
export function isFinished(parcel: Parcel<unknown>): boolean {
  return parcel.phase === 'done' || parcel.phase === 'unsent' || (parcel.phase === 'failed' && !canRetry(parcel))
}

/** Without a session, or without a connection, nothing is begun that would only fail. */
export function standsStill(): boolean {
  return currentSession().state !== 'in' || liveState().state === 'offline'
}

interface Queue {
  readonly atWork: () => number
  readonly pump: () => void
  readonly empty: () => void
}
const queues: Queue[] = []
/** Whose files these are: nobody else's name may stand beside them in the audit log. */
let owner: string | undefined

/** How many files are on their way from this window. */
export function allAtWork(): number {
  return queues.reduce((sum, { atWork }) => sum + atWork(), 0)
}

/** Goes on after the connection came back. */
export function pumpAll(): void {
  for (const { pump } of queues) pump()
}

/** Goes on after somebody signed in; what another person left here is gone with that person. */
export function takeUpAll(): void {
  const name = currentSession().me?.username
  if (owner !== undefined && owner !== name) for (const { empty } of queues) empty()
  owner = name
  pumpAll()
}

let nextId = 1
/** Why a file stops that will begin again. */
const PAUSED = 'paused'

/**
 * A queue of files for one route. It lives as long as the window: files go on while someone looks elsewhere. It waits
 * for a session and for the connection, counts down the limit of uploads a minute, and keeps what was refused.
 */
export function createSender<Answer, More extends object>(rules: Rules<Answer, More>): Sender<Answer, More> {
  let items = $state<Item<Answer, More>[]>([])
  let pausedUntil = $state<Date>()
  let limitPerMinute = $state<number>()
  let limitMb = $state<number>()
  let isPaused = $state(false)
  const files = new Map<number, File>()

  const isReady = (item: Item<Answer, More>): boolean => rules.isReady?.(item) ?? true
  const isRunning = ({ phase }: Parcel<Answer>): boolean => phase === 'sending' || phase === 'at_server'
  const without = (gone: Parcel<Answer>): void => {
    files.delete(gone.id)
    items = items.filter(({ id }) => id !== gone.id)
  }

  /** Says no to what waits and is larger than the limit. */
  function refuseLarge(): void {
    for (const item of items) {
      if (item.phase !== 'waiting' || limitMb === undefined || item.file.size <= limitMb * 1024 * 1024) continue
      item.phase = 'unsent'
      item.problem = new ApiProblem({
        status: 413,
        code: 'upload_too_large',
        message: `${item.file.name} is ${bytes(item.file.size)}. The limit is ${limitMb} MB. An admin can raise ${rules.setting}.`,
      })
    }
  }

  /** Waits out the limit and goes on by itself; what is at the server continues. */
  function pause(seconds: number, limit: number | undefined): void {
    if (pausedUntil !== undefined) return
    limitPerMinute = limit
    pausedUntil = new Date(Date.now() + seconds * 1000)
    setTimeout(() => {
      pausedUntil = undefined
      pump()
    }, seconds * 1000)
  }

  const fileOf = ({ id }: Parcel<Answer>): File => files.get(id) ?? new File([], '')

  function settle(item: Item<Answer, More>, error: unknown): void {
    if (item.abort?.signal.reason === PAUSED) {
      Object.assign(item, { phase: 'waiting', sent: 0 } satisfies Partial<Parcel<Answer>>)
      return
    }
    if (error instanceof DOMException && error.name === 'AbortError') return without(item)
    const problem = toProblem(error)
    // for who signs in again
    if (problem.status === 401) {
      item.phase = 'waiting'
      return
    }
    if (problem.status === 429) {
      item.phase = 'waiting'
      return pause(problem.retryAfter ?? 60, Number(problem.facts.limit) || undefined)
    }
    item.phase = 'failed'
    item.problem = problem
    const limit = Number(problem.facts.limit_mb)
    if (problem.status === 413 && limit > 0) {
      limitMb = limit
      refuseLarge()
    }
  }

  function watch(item: Item<Answer, More>, { signal }: AbortController): Watch {
    return {
      signal,
      progress: sent => {
        item.sent = sent
        if (sent >= item.file.size && item.phase === 'sending') item.phase = 'at_server'
      },
    }
  }

  async function run(item: Item<Answer, More>): Promise<void> {
    const abort = new AbortController()
    Object.assign(item, { phase: 'sending', sent: 0, problem: undefined, abort } satisfies Partial<Parcel<Answer>>)
    rules.began?.(item)
    try {
      // our own server's shape
      item.result = (await sendFile(fileOf(item), rules.wayOf(item), watch(item, abort))) as Answer
      item.phase = 'done'
    } catch (error) {
      settle(item, error)
    }
    item.abort = undefined
    item.finishedAt = new Date()
    rules.finished?.(item)
    pump()
  }

  function pump(): void {
    if (pausedUntil !== undefined || isPaused || standsStill()) return
    let running = items.filter(isRunning).length
    for (const item of items) {
      if (running >= rules.atOnce) return
      if (item.phase !== 'waiting' || !isReady(item)) continue
      running++
      void run(item)
    }
  }

  const sender: Sender<Answer, More> = {
    get items() {
      return items
    },
    get pausedUntil() {
      return pausedUntil
    },
    get limitPerMinute() {
      return limitPerMinute
    },
    get limitMb() {
      return limitMb
    },
    set limitMb(value) {
      limitMb = value
      refuseLarge()
    },
    add: (file, more) => {
      const id = nextId++
      files.set(id, file)
      items.push({
        id,
        file: { name: file.name, size: file.size },
        phase: 'waiting',
        sent: 0,
        result: undefined,
        problem: undefined,
        finishedAt: undefined,
        abort: undefined,
        ...more,
      })
      refuseLarge()
      pump()
    },
    change: (item, more) => Object.assign(item, more),
    get isPaused() {
      return isPaused
    },
    set isPaused(value) {
      isPaused = value
      // bytes that are on their way begin again; what is at the server goes on
      if (isPaused) for (const item of items) if (item.phase === 'sending') item.abort?.abort(PAUSED)
      pump()
    },
    pump,
    remove: item => {
      if (item.abort === undefined) without(item)
      else item.abort.abort()
    },
    retry: (chosen, change) => {
      for (const item of chosen) {
        if (!canRetry(item) && change === undefined) continue
        Object.assign(item, { phase: 'waiting', problem: undefined }, change)
      }
      pump()
    },
    clearFinished: () => {
      items = items.filter(item => !isFinished(item))
    },
    atWork: () => items.filter(item => isRunning(item) || (item.phase === 'waiting' && isReady(item))).length,
  }
  queues.push({
    pump,
    atWork: sender.atWork,
    empty: () => {
      for (const item of items) item.abort?.abort()
      items = []
    },
  })
  return sender
}
