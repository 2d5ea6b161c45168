import { flushSync, tick, untrack } from 'svelte'
import type { Attachment } from 'svelte/attachments'
import { cut, FIRST, stepTo, type Range } from './drawn-rows.ts'

interface Ask {
  /** Those that were read: only they can be drawn. */
  readonly known: () => Range
  /** Of the whole list. */
  readonly total: () => number
  /** Hears of the row in the middle of the box after scrolling, once the hand is calm; Infinity at the end. */
  readonly onView: (at: number) => void
}

/** Which rows of a long list are in the document: those in sight and some around them. */
export interface Drawn {
  readonly range: Range
  /** Of the rows before and after them, in pixels. */
  readonly above: number
  readonly below: number
  /** Goes on the box that scrolls. Rows have `aria-rowindex`, 2 for the first, or `aria-posinset`, 1 for the first. */
  readonly scroller: Attachment<HTMLElement>
  /** The known rows are others: a row is brought to the top, or what is in sight stays there. */
  renew(top?: number): void
  /** The first row that is seen. */
  inSight(): number | undefined
  /** Scrolls as little as shows this row whole. */
  reveal(at: number): void
  /** Draws all that is known until the function that it returns is called. */
  drawAll(): () => void
}

/** Places that are passed while the scrollbar is dragged are not asked for. */
const CALM_MS = 60
const USUAL_ROW_PX = 44
const ROW = /* @wc-ignore */ ':is(tr[aria-rowindex], li[aria-posinset]):not(thead *)'

const topOf = (one: Element): number => one.getBoundingClientRect().top
const bottomOf = (one: Element): number => one.getBoundingClientRect().bottom
const placeOf = (row: Element): number =>
  row.hasAttribute('aria-posinset')
    ? Number(row.getAttribute('aria-posinset')) - 1
    : Number(row.getAttribute('aria-rowindex')) - 2
/** How the box was before its rows changed. */
interface Was {
  /** The first one in sight, and its height in the window. */
  readonly row: { readonly at: number; readonly px: number } | undefined
  readonly isEnd: boolean
  readonly hadFocus: boolean
}

/** Keeps the rows in sight drawn, and what is read where it is. Call it while a component is set up. */
export function createDrawn({ known, total, onView }: Ask): Drawn {
  let range = $state.raw<Range>({ from: 0, to: 0 })
  let rowPx = $state(USUAL_ROW_PX)
  let measuredAt: number | undefined
  let box: HTMLElement | undefined
  let frame: number | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let top: number | undefined
  let seen: Range | undefined
  let isAll = false

  const rows = (): readonly Element[] => [...(box?.querySelectorAll(ROW) ?? [])]
  /** Where rows begin to be seen: under the head of their table, which stays. */
  function sightTop(all: readonly Element[]): number {
    if (box === undefined) return 0
    const head = all[0]?.closest('table')?.tHead?.querySelector('th')
    return Math.max(topOf(box), head ? bottomOf(head) : 0)
  }
  /** The place in the list at a height of the window, with its part of a row. */
  function placeAt(y: number, all: readonly Element[]): number {
    const [first, last] = [all[0], all.at(-1)]
    if (first === undefined || last === undefined) return 0
    if (y < topOf(first)) return placeOf(first) - (topOf(first) - y) / rowPx
    if (y > bottomOf(last)) return placeOf(last) + 1 + (y - bottomOf(last)) / rowPx
    return (
      placeOf(first) + ((y - topOf(first)) / (bottomOf(last) - topOf(first))) * (placeOf(last) + 1 - placeOf(first))
    )
  }
  function sight(): Range | undefined {
    const all = rows()
    if (box === undefined || all.length === 0) return undefined
    seen = { from: Math.floor(placeAt(sightTop(all), all)), to: Math.ceil(placeAt(bottomOf(box), all)) }
    return seen
  }
  const isEnd = (): boolean =>
    box !== undefined && box.scrollTop > 0 && box.scrollTop + box.clientHeight >= box.scrollHeight - 2
  /** Text that is marked must stay in the document. */
  const isMarked = (): boolean => {
    const marked = getSelection()
    return marked !== null && !marked.isCollapsed && (box?.contains(marked.anchorNode) ?? false)
  }

  function step(): void {
    if (isAll) return
    const here = known()
    const view = top === undefined ? (sight() ?? { from: range.from, to: range.from }) : { from: top, to: top + 1 }
    const next = stepTo(range, view, here)
    const wide = isMarked()
      ? cut({ from: Math.min(next.from, range.from), to: Math.max(next.to, range.to) }, here)
      : next
    if (wide.from === range.from && wide.to === range.to) return
    range = wide
    later()
  }
  function later(): void {
    frame ??= requestAnimationFrame(() => {
      frame = undefined
      step()
    })
  }

  // rows that come and go above must not move those that are read
  $effect.pre(() => {
    if (range.to + known().to + total() + rowPx === 0) return
    const was = untrack((): Was => {
      const all = rows()
      const [from, to] = [sightTop(all), box === undefined ? 0 : bottomOf(box)]
      const first = all.find(row => bottomOf(row) > from)
      const at = document.activeElement
      return {
        row: first && topOf(first) < to ? { at: placeOf(first), px: topOf(first) } : undefined,
        isEnd: isEnd(),
        hadFocus: at?.closest(ROW) !== null && (box?.contains(at) ?? false),
      }
    })
    void tick().then(() => settle(was))
  })
  /** Once the rows are drawn: what was in sight, or is wanted at the top, gets its place. */
  function settle(was?: Was): void {
    if (box === undefined) return
    const all = rows()
    const row = all.find(one => placeOf(one) === (top ?? was?.row?.at))
    if (top === 0 && all.length > 0) box.scrollTop = 0
    else if (top === undefined && was?.isEnd === true) box.scrollTop = box.scrollHeight
    else if (row !== undefined) {
      const by = topOf(row) - (top === undefined ? (was?.row?.px ?? 0) : sightTop(all))
      if (Math.abs(by) >= 1) box.scrollTop += by
    }
    if (row !== undefined) top = undefined
    // the row with the keyboard left the document: the keys that scroll go on
    if (was?.hadFocus === true && document.activeElement === document.body) box.focus({ preventScroll: true })
    measure(all)
    later()
    lookSoon()
  }
  /** One height for all rows that are not drawn, measured again only when the lines break otherwise. */
  function measure(all: readonly Element[]): void {
    const [first, last] = [all[0], all.at(-1)]
    if (box === undefined || measuredAt === box.clientWidth || first === undefined || last === undefined) return
    measuredAt = box.clientWidth
    rowPx = (bottomOf(last) - topOf(first)) / all.length
  }

  function look(): void {
    if (box === undefined || top !== undefined) return
    const all = rows()
    if (all.length === 0) return
    onView(isEnd() ? Infinity : Math.max(0, Math.floor(placeAt(topOf(box) + box.clientHeight / 2, all))))
  }
  function lookSoon(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      look()
    }, CALM_MS)
  }
  const scroller: Attachment<HTMLElement> = element => {
    box = element
    measuredAt = undefined
    element.style.overflowAnchor = 'none'
    // another box shows the same rows now
    if (untrack(() => range.to) > 0) top ??= seen?.from
    void tick().then(() => settle())
    const scrolled = (): void => {
      later()
      lookSoon()
    }
    // the browser's own search sees only the rows that are drawn: from within such a list, the field that sees all
    const search = (event: KeyboardEvent): void => {
      if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.key !== 'f') return
      const field = document.querySelector<HTMLElement>('[data-search]')
      if (field === null || (range.from === 0 && range.to >= total())) return
      event.preventDefault()
      field.focus()
    }
    element.addEventListener('keydown', search)
    element.addEventListener('scroll', scrolled, { passive: true })
    return () => {
      clearTimeout(timer)
      timer = undefined
      element.removeEventListener('keydown', search)
      element.removeEventListener('scroll', scrolled)
      if (frame !== undefined) cancelAnimationFrame(frame)
      frame = undefined
      box = undefined
    }
  }

  const drawn: Drawn = {
    get range() {
      return range
    },
    get above() {
      return range.from * rowPx
    },
    get below() {
      return Math.max(0, total() - range.to) * rowPx
    },
    scroller,
    renew: at => {
      top = at ?? top
      const here = known()
      const held = cut(range, here)
      // the hand may have gone on since: some of what is known is drawn all the same, to tell places by
      const seenNow = Math.min(sight()?.from ?? here.from, here.to - FIRST)
      const begin = top ?? (held.to > held.from ? undefined : Math.max(seenNow, here.from))
      range = begin === undefined ? held : cut({ from: begin, to: begin + FIRST }, here)
      later()
    },
    inSight: () => sight()?.from,
    reveal: at => {
      void tick().then(() => {
        const all = rows()
        const row = all.find(one => placeOf(one) === at)
        if (row === undefined) drawn.renew(at)
        if (box === undefined || row === undefined) return
        const [over, under] = [sightTop(all) - topOf(row), bottomOf(row) - bottomOf(box)]
        if (over > 0) box.scrollTop -= over
        else if (under > 0) box.scrollTop += under
      })
    },
    drawAll: () => {
      const before = range
      isAll = true
      flushSync(() => {
        range = known()
      })
      return () => {
        isAll = false
        range = before
      }
    },
  }
  return drawn
}
