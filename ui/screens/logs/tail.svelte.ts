import { call, open } from '../../api.ts'
import { signIns } from '../../session.svelte.ts'
import { readEvents } from '../../sse.ts'
import type { Reply } from '../../wire.ts'

type Page = Reply<'GET /logs'>
type Entry = Page['entries'][number]
/** A line as the list shows it. */
export interface Line extends Entry {
  readonly id: number
}

export interface LogQuery {
  readonly service?: 'backend' | 'apt-repo' | 'all'
  readonly min_level?: Entry['level']
  readonly component?: string
  readonly request_id?: string
  readonly q?: string
}

/** More than these are not looked through; they can be asked for again. */
const MOST = 2_000
const FIRST = 200
const AGAIN_MS = 5_000

/** The lines of the log, newest first, and those that come. */
export interface Tail {
  readonly lines: readonly Line[]
  /** Came while the list stood still. */
  readonly waiting: readonly Line[]
  readonly problem: unknown
  readonly loading: boolean
  readonly live: boolean
  /** Whether there is anything older. */
  readonly hasOlder: boolean
  /** Files of the log that could not be read, with the reason. */
  readonly unread: Page['unread']
  older(): Promise<void>
  /** Puts what waits into the list. */
  takeWaiting(): void
  reload(): Promise<void>
}

/**
 * Reads the log, and follows it. Call it while a component is set up; it begins anew when what `ask` looks at changes.
 * @param from  the earliest time of a line, as the server takes it
 */
export function createTail(
  ask: () => { readonly query: LogQuery; readonly from: string | undefined },
  { follows, standsStill }: { readonly follows: () => boolean; readonly standsStill: () => boolean },
): Tail {
  let lines = $state.raw<readonly Line[]>([])
  let waiting = $state.raw<readonly Line[]>([])
  let problem = $state.raw<unknown>()
  let loading = $state(true)
  let live = $state(false)
  let cursor = $state.raw<string | null>(null)
  let unread = $state.raw<Page['unread']>([])
  let last = 0
  let reading: AbortController | undefined

  // one log comes after the other: here they are one, by time
  const sorted = (entries: readonly Entry[]): Line[] =>
    entries
      .toReversed()
      .map(entry => ({ ...entry, id: ++last }))
      .sort((a, b) => (b.ts ?? Infinity) - (a.ts ?? Infinity))

  async function load(): Promise<void> {
    reading?.abort()
    const mine = new AbortController()
    reading = mine
    loading = true
    const { query, from } = ask()
    try {
      const page = await call('GET /logs', {
        signal: mine.signal,
        query: { ...query, lines: FIRST, ...(from === undefined ? {} : { from }) },
      })
      if (mine.signal.aborted) return
      lines = sorted(page.entries)
      waiting = []
      cursor = page.cursor
      unread = page.unread
      problem = undefined
    } catch (error) {
      if (mine.signal.aborted) return
      problem = error
    }
    loading = false
  }

  async function older(): Promise<void> {
    const { query, from } = ask()
    const at = cursor
    if (at === null || loading) return
    loading = true
    try {
      const page = await call('GET /logs', {
        query: { ...query, lines: FIRST, cursor: at, ...(from === undefined ? {} : { from }) },
      })
      if (cursor !== at) return // the filter was changed meanwhile
      lines = [...lines, ...sorted(page.entries)]
      cursor = page.cursor
      unread = [...unread, ...page.unread.filter(one => unread.every(({ file }) => file !== one.file))]
    } catch (error) {
      problem = error
    } finally {
      loading = false
    }
  }

  const textOf = ({ ts, message, request_id: id = '' }: Entry): string => `${ts} ${id} ${message}`

  /** Follows until the stream ends. What the list has already is passed over: a stream begins with the last lines. */
  async function follow(query: LogQuery, signal: AbortSignal): Promise<void> {
    const body = await open('GET /logs/stream', { signal, query: { ...query } })
    const known = new Set([...lines, ...waiting].map(textOf))
    live = true
    try {
      for await (const { data } of readEvents(body)) {
        const entry = JSON.parse(data) as Entry // our own server's shape
        if (known.has(textOf(entry))) continue
        const line = { ...entry, id: ++last }
        if (standsStill()) waiting = [line, ...waiting].slice(0, MOST)
        else lines = [line, ...lines].slice(0, MOST)
      }
    } finally {
      live = false
    }
  }

  async function run(query: LogQuery, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await follow(query, signal).catch(() => undefined) // however it ended, the next attempt follows
      if (signal.aborted) return
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, AGAIN_MS)
        signal.addEventListener(
          'abort',
          () => {
            clearTimeout(timer)
            resolve()
          },
          { once: true },
        )
      })
    }
  }

  $effect(() => {
    signIns()
    const { query } = ask()
    const stop = new AbortController()
    const follow = follows()
    void load().then(() => {
      if (follow && !stop.signal.aborted) void run(query, stop.signal)
    })
    return () => {
      stop.abort()
      reading?.abort()
    }
  })

  return {
    get lines() {
      return lines
    },
    get waiting() {
      return waiting
    },
    get problem() {
      return problem
    },
    get loading() {
      return loading
    },
    get live() {
      return live
    },
    get hasOlder() {
      return cursor !== null
    },
    get unread() {
      return unread
    },
    older,
    takeWaiting() {
      lines = [...waiting, ...lines].slice(0, MOST)
      waiting = []
    },
    reload: load,
  }
}
