import { untrack } from 'svelte'
import type { Attachment } from 'svelte/attachments'
import { leftOf, type Range } from './drawn-rows.ts'
import { createDrawn } from './drawn.svelte.ts'
import { resource, type Resource } from './resource.svelte.ts'
import { address, pageWord, patchQuery } from './routes.svelte.ts'

/** The numbers of a page of a list, whatever it calls its rows. */
interface PageOf {
  readonly page: number
  readonly per_page: number
  readonly total: number
  readonly pages: number
}

interface Ask<P extends PageOf, T> {
  /** What narrows and orders the list; the same text as long as that is the same. Without the page. */
  readonly filter: () => string
  readonly read: (page: number, signal: AbortSignal) => Promise<P>
  readonly rowsOf: (page: P) => readonly T[]
  readonly keyOf: (row: T) => string
  readonly follow?: 'live' | 'alone'
  /** While this holds rows keep their places, and what left the list stays and is `gone`. */
  readonly still?: () => boolean
}

/** A row, and which one of the whole list it is, from 0. */
export interface Placed<T> {
  readonly item: T
  readonly at: number
  readonly gone: boolean
}

/** A list that scrolls through all of its rows while few of them are in the document. */
export interface Pages<P extends PageOf, T> {
  /** The page that the address names. */
  readonly list: Resource<P>
  /** Of that page and of those beside it. */
  readonly all: readonly Placed<T>[]
  /** Those that are to be drawn, with `aria-rowindex`, 2 for the first, or `aria-posinset`, 1 for the first. */
  readonly rows: readonly Placed<T>[]
  /** Of the rows before and after them, in pixels. */
  readonly above: number
  readonly below: number
  /** Goes on the box that scrolls. */
  readonly scroller: Attachment<HTMLElement>
  /** The row `by` places from the one that `is` it, or an end; the first in sight where none is. */
  next(is: (item: T) => boolean, by: number): Placed<T> | undefined
  /** The page of a row as the address has it. */
  pageOf(at: number): string | undefined
  /** Scrolls as little as shows this row whole. */
  reveal(at: number): void
  /** Of the rows that were read: all of these are on paper. */
  readonly read: Range
}

/**
 * Reads the page that the address names and those beside it. Scrolling changes the address; another change of the
 * address scrolls. Call it while a component is set up.
 */
export function createPages<P extends PageOf, T>({
  filter,
  read,
  rowsOf,
  keyOf,
  follow = 'alone',
  still = () => false,
}: Ask<P, T>): Pages<P, T> {
  const kept = new Map<number, P>()
  const stale = new Set<number>()
  /** While rows keep their places: the pages as they were seen first. */
  const firm = new Map<number, P>()
  let shown = $state.raw<readonly P[]>([])
  let gone = $state.raw<ReadonlySet<string>>(new Set())
  let isOther = true
  let of: string | undefined
  let asked: number | undefined
  let scrolledTo: number | undefined
  let goTo: number | undefined
  const current = $derived(Math.max(1, Math.floor(Number(address().query.page)) || 1))
  const begin = (one: P): number => (one.page - 1) * one.per_page
  const total = $derived(shown.at(-1)?.total ?? 0)
  const known = $derived.by(() => {
    const [first, last] = [shown[0], shown.at(-1)]
    return first === undefined || last === undefined
      ? { from: 0, to: 0 }
      : { from: begin(first), to: begin(last) + rowsOf(last).length }
  })
  const drawn = createDrawn({
    known: () => known,
    total: () => total,
    onView: at => {
      const page = shown[0]
      if (page === undefined || goTo !== undefined) return
      const n = Math.min(Math.floor(at / page.per_page) + 1, page.pages)
      if (n === current) return
      scrolledTo = n
      patchQuery({ page: pageWord(n) }, 'replace')
    },
  })

  function draw(middle: number): void {
    const most = kept.get(middle)?.pages ?? middle
    for (const n of kept.keys()) if (Math.abs(n - middle) > 1 || (n > most && n !== middle)) kept.delete(n)
    const fresh = [middle - 1, middle, middle + 1].flatMap(n => kept.get(n) ?? [])
    const isStill = untrack(still)
    if (!isStill) firm.clear()
    else for (const one of fresh) if (!firm.has(one.page)) firm.set(one.page, one)
    shown = isStill ? fresh.map(one => firm.get(one.page) ?? one) : fresh
    const [first, last, page] = [fresh[0], fresh.at(-1), kept.get(middle)]
    if (first === undefined || last === undefined || page === undefined) return
    const keysOf = (some: readonly P[]): readonly string[] => some.flatMap(rowsOf).map(keyOf)
    const ends = { isStart: first.page === 1, isEnd: last.page >= last.pages }
    // between two answers a row may be on neither page
    if (!isStill) gone = new Set()
    else if (stale.size === 0) gone = leftOf(keysOf(shown), keysOf(fresh), ends)
    drawn.renew(goTo === middle || isOther ? begin(page) : undefined)
    if (goTo === middle) goTo = undefined
    isOther = false
  }
  const list = resource(async signal => {
    const [page, text] = [current, filter()]
    if (text !== of) {
      kept.clear()
      stale.clear()
      firm.clear()
      isOther = true
    }
    // the same page again is a wish for what is there now
    else if (page === asked) for (const n of kept.keys()) stale.add(n)
    if ((text !== of || page !== asked) && page !== scrolledTo) {
      goTo = page
      scrolledTo = undefined
    }
    of = text
    asked = page
    const answer = stale.has(page) ? await read(page, signal) : (kept.get(page) ?? (await read(page, signal)))
    if (signal.aborted) return answer
    stale.delete(page)
    kept.set(page, answer)
    // a page that was kept comes without waiting: what is looked at here must not read the list again
    untrack(() => {
      draw(page)
      // the last page may have gone away
      if (answer.total > 0 && page > answer.pages) patchQuery({ page: pageWord(Math.max(1, answer.pages)) }, 'replace')
    })
    return answer
  }, follow)

  async function readBeside(middle: P, signal: AbortSignal): Promise<void> {
    for (const n of [middle.page + 1, middle.page - 1]) {
      if (n < 1 || n > middle.pages || (kept.has(n) && !stale.has(n))) continue
      const answer = await read(n, signal)
      if (signal.aborted || list.value !== middle) return
      stale.delete(n)
      kept.set(n, answer)
      draw(middle.page)
    }
  }
  $effect(() => {
    const middle = list.value
    if (middle === undefined) return
    const ending = new AbortController()
    // where one cannot be read its place stays empty; scrolled to, it is asked for again and says why
    untrack(() => void readBeside(middle, ending.signal).catch(() => {}))
    return () => ending.abort()
  })
  // what is in sight when rows begin to keep their places keeps its place, and goes where it belongs afterwards
  $effect(() => {
    still()
    untrack(() => {
      if (list.value !== undefined && kept.has(list.value.page)) draw(list.value.page)
    })
  })

  $effect(() => {
    let undo: (() => void) | undefined
    const before = (): void => {
      undo = drawn.drawAll()
    }
    const after = (): void => undo?.()
    addEventListener('beforeprint', before)
    addEventListener('afterprint', after)
    return () => {
      removeEventListener('beforeprint', before)
      removeEventListener('afterprint', after)
    }
  })

  const all = $derived.by(() => {
    const seen = new Set<string>()
    // while rows keep their places, what is said in them is still what is there now
    const now = firm.size === 0 ? undefined : new Map([...kept.values()].flatMap(rowsOf).map(row => [keyOf(row), row]))
    return shown
      .flatMap(page => rowsOf(page).map((item, n) => ({ item, key: keyOf(item), at: begin(page) + n })))
      .filter(({ key }) => seen.size < seen.add(key).size) // one may have moved between two answers
      .map(({ item, key, at }) => ({ item: now?.get(key) ?? item, at, gone: gone.has(key) }))
  })
  const rows = $derived(all.filter(({ at }) => at >= drawn.range.from && at < drawn.range.to))

  return {
    list,
    get all() {
      return all
    },
    get rows() {
      return rows
    },
    get above() {
      return drawn.above
    },
    get below() {
      return drawn.below
    },
    scroller: drawn.scroller,
    next: (is, by) => {
      const here = all.findIndex(({ item }) => is(item))
      if (here >= 0) return all[Math.min(Math.max(here + by, 0), all.length - 1)]
      return all.find(({ at }) => at >= (drawn.inSight() ?? 0)) ?? all[0]
    },
    pageOf: at => pageWord(Math.floor(at / (shown[0]?.per_page ?? 1)) + 1),
    reveal: drawn.reveal,
    get read() {
      return known
    },
  }
}
