import { ApiProblem } from './api.ts'
import { doubt, onLive } from './live.svelte.ts'
import { signIns } from './session.svelte.ts'

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

  async function load(): Promise<void> {
    running?.abort()
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

  $effect(() => {
    signIns()
    void load()
    return () => running?.abort()
  })
  $effect(() => {
    // many packages may move at once: one read for all of them
    let timer: ReturnType<typeof setTimeout> | undefined
    const stop = onLive(event => {
      const isBack = event === undefined
      if (follow === 'live' || (isBack && problem !== undefined))
        timer ??= setTimeout(() => {
          timer = undefined
          void load()
        }, 400)
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
