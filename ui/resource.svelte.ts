import { untrack } from 'svelte'
import { ApiProblem } from './api.ts'
import { doubt, onLive } from './live.svelte.ts'
import { signIns } from './session.svelte.ts'

/** After an event, so that one read is for all that come together. */
const CALM_MS = 400
/** Between two reads for events: while the window is seen, while it is not, and after a refusal. */
const PAUSE_MS = 2_000
const HIDDEN_PAUSE_MS = 15_000
const REFUSED_PAUSE_MS = 60_000
const REFUSALS: readonly number[] = [400, 403, 404, 422]

/** Data of a screen: the old value stays while a new one loads, and beside a problem. */
export interface Resource<T> {
  readonly value: T | undefined
  readonly problem: unknown
  /** When `value` was read. */
  readonly readAt: Date | undefined
  readonly loading: boolean
  reload(): Promise<void>
}

/**
 * Reads now, again whenever something that `read` looks at synchronously changes, after signing in again, and on live
 * events where `follow` says so. Failed reads are repeated when a lost connection is back. A newer read ends an older
 * one. Call it while a component is set up.
 */
export function resource<T>(
  read: (signal: AbortSignal) => Promise<T>,
  follow: 'live' | 'alone' = 'alone',
): Resource<T> {
  let value = $state.raw<T | undefined>()
  let problem = $state.raw<unknown>()
  let readAt = $state.raw<Date | undefined>()
  let loading = $state(true)
  let running: AbortController | undefined
  let isGone = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let loadedAt = -Infinity

  async function load(): Promise<void> {
    if (isGone) return // asked for by work that outlived its screen
    running?.abort()
    clearTimeout(timer)
    timer = undefined
    loadedAt = performance.now()
    const mine = new AbortController()
    running = mine
    loading = true
    try {
      const answer = await read(mine.signal)
      if (mine.signal.aborted) return
      value = answer
      readAt = new Date()
      problem = undefined
    } catch (error) {
      if (mine.signal.aborted) return
      problem = error
      // no answer at all: the connection is asked, and its return reads this again
      if (error instanceof ApiProblem && error.status === 0) doubt()
    }
    loading = false
  }

  $effect(() => () => {
    isGone = true
  })
  $effect(() => {
    signIns()
    untrack(() => {
      // whoever is back has the proof that was missing
      if (problem instanceof ApiProblem && problem.status === 401) problem = undefined
    })
    void load()
    return () => running?.abort()
  })
  $effect(() => {
    // many packages may move at once: one read for all of them, and the next one some time later
    let readLast = -Infinity
    const stop = onLive(event => {
      const isBack = event === undefined
      if (follow !== 'live' && !(isBack && problem !== undefined)) return
      // asked again the same is refused again; only a package that is not there may come
      const isRefused = !isBack && problem instanceof ApiProblem && REFUSALS.includes(problem.status)
      const free = isRefused ? loadedAt + REFUSED_PAUSE_MS : readLast + (document.hidden ? HIDDEN_PAUSE_MS : PAUSE_MS)
      timer ??= setTimeout(
        () => {
          readLast = performance.now()
          void load()
        },
        isBack ? CALM_MS : Math.max(CALM_MS, free - performance.now()),
      )
    })
    return () => {
      clearTimeout(timer)
      stop()
    }
  })

  return {
    get value() {
      return value
    },
    get problem() {
      return problem
    },
    get readAt() {
      return readAt
    },
    get loading() {
      return loading
    },
    reload: load,
  }
}
