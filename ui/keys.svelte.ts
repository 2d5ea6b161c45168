import { hasRowLinks, hasRows, moveRow, openRow, searchField } from './list-keys.ts'
import { go } from './routes.svelte.ts'
import { ROWS } from './screens.ts'
import { phrase } from './show.ts'
import { takeBack, waitingNow } from './undo.svelte.ts'

const KEY = 'gatehouse.single-keys'
/** After `G`, the second letter must follow within this time. */
const SEQUENCE_MS = 1500

/** The keys of a screen while it is shown. */
export interface ScreenKeys {
  readonly next?: () => void
  readonly previous?: () => void
  readonly close?: () => void
  /** More keys of this screen, by `event.key` in lower case, with what the help calls them. */
  readonly more?: Readonly<Record<string, { readonly word: string; readonly act: () => void }>>
}

let screenKeys = $state.raw<ScreenKeys>({})
let single = $state(read())
let after: { readonly key: 'g'; readonly at: number } | undefined

function read(): boolean {
  try {
    return localStorage.getItem(KEY) !== 'off'
  } catch {
    return true
  }
}

/** Single letters can be switched off: people who speak to their computer type them by accident (WCAG 2.1.4). */
export function singleKeys(): boolean {
  return single
}

export function setSingleKeys(on: boolean): void {
  single = on
  try {
    localStorage.setItem(KEY, on ? 'on' : 'off')
  } catch {
    /* lasts as long as the page */
  }
}

let sending: readonly (() => void)[] = []

/** What Ctrl+Enter sends or saves while this is shown; the newest has it. Call the result when it leaves. */
export function useSendKey(act: () => void): () => void {
  sending = [...sending, act]
  return () => {
    sending = sending.filter(one => one !== act)
  }
}

/** Registers a screen's keys; call the result when it leaves. */
export function useKeys(keys: ScreenKeys): () => void {
  screenKeys = keys
  return () => {
    if (screenKeys === keys) screenKeys = {}
  }
}

/** The keys that the palette lists for the current screen. */
export function moreKeys(): readonly { readonly key: string; readonly word: string }[] {
  return Object.entries(screenKeys.more ?? {}).map(([key, { word }]) => ({ key, word }))
}

/** The keys that do something on the current screen as it is now, with what they do. */
export function keysNow(): readonly { readonly key: string; readonly word: string }[] {
  const own = screenKeys.next !== undefined
  return [
    {
      key: '/',
      word:
        searchField() === undefined
          ? phrase('Search everything: this page has no field for it')
          : phrase('Search this page'),
    },
    ...(own
      ? [{ key: 'j k', word: phrase('Next and previous row; what is beside the list follows') }]
      : hasRows()
        ? [{ key: 'j k', word: phrase('Next and previous row') }]
        : []),
    ...(!own && screenKeys.more?.enter === undefined && hasRowLinks()
      ? [{ key: 'enter', word: phrase('Follow the link of the row') }]
      : []),
    ...(screenKeys.close === undefined ? [] : [{ key: 'esc', word: phrase('Close what is open') }]),
    ...(waitingNow().length === 0 ? [] : [{ key: 'z', word: phrase('Take back what was done last') }]),
    ...moreKeys().filter(({ word }) => word !== ''),
  ]
}

/** Does what a key of the current screen does. */
export function pressKey(key: string): void {
  screenKeys.more?.[key]?.act()
}

function inField(target: EventTarget | null): boolean {
  return (
    target instanceof Element &&
    target.closest('input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]') !== null
  )
}

/** Esc in a field that does nothing with it goes to what is around the field: the next Esc closes that. */
function leaveField(field: EventTarget | null): void {
  if (!(field instanceof HTMLElement) || field.matches('[role=combobox], [type=search]')) return
  const around = field.closest<HTMLElement>('[tabindex]:not(main)')
  if (around === null || around === field) field.blur()
  else around.focus({ preventScroll: true })
}

const isPaletteKey = ({ ctrlKey, metaKey, altKey, shiftKey, key }: KeyboardEvent): boolean =>
  ctrlKey !== metaKey && !altKey && !shiftKey && key.toLowerCase() === 'k'

const isSendKey = ({ ctrlKey, metaKey, altKey, shiftKey, key }: KeyboardEvent): boolean =>
  ctrlKey !== metaKey && !altKey && !shiftKey && key === 'Enter'

/** What the window opens over every screen. */
interface Window {
  readonly openHelp: () => void
  readonly openPalette: () => void
}

/** The one key handler of the window: while a dialog is open, no key is for what is behind it. */
export function onKey(event: KeyboardEvent, { openHelp, openPalette }: Window): void {
  // a dialog is shown while it is there; Esc may close one for a moment
  if (document.querySelector('dialog') !== null) return
  if (isPaletteKey(event)) {
    event.preventDefault()
    openPalette()
    return
  }
  const send = sending.at(-1)
  if (isSendKey(event) && send !== undefined && !event.defaultPrevented) {
    event.preventDefault()
    send()
    return
  }
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
  if (event.key === 'Escape') {
    if (inField(event.target)) leaveField(event.target)
    else screenKeys.close?.()
    return
  }
  if (inField(event.target) || !single) return
  const key = event.key.toLowerCase()
  const waited = after
  after = undefined
  if (waited !== undefined && event.timeStamp - waited.at < SEQUENCE_MS) {
    const to = ROWS.find(row => row.key === key)
    if (to !== undefined) {
      event.preventDefault()
      go(to.name)
    }
    return
  }
  if (key === 'g') after = { key, at: event.timeStamp }
  else if (event.key === '?') openHelp()
  else if (key === 'z') void takeBack()
  else if (key === 'j') (screenKeys.next ?? (() => moveRow(1)))()
  else if (key === 'k') (screenKeys.previous ?? (() => moveRow(-1)))()
  else if (screenKeys.more?.[key] !== undefined) {
    // links and buttons handle Enter themselves
    if (key === 'enter' && event.target instanceof Element && event.target.closest('a, button, summary') !== null)
      return
    event.preventDefault()
    screenKeys.more[key]?.act()
  } else if (key === 'enter') {
    if (openRow(event.target)) event.preventDefault()
  } else if (event.key === '/') {
    event.preventDefault()
    const search = searchField()
    if (search === undefined) openPalette()
    else {
      search.focus()
      search.select()
    }
  }
}
