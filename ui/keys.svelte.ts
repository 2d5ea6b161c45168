import { go } from './routes.svelte.ts'
import { ROWS } from './screens.ts'

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

/** Registers a screen's keys; call the result when it leaves. */
export function useKeys(keys: ScreenKeys): () => void {
  screenKeys = keys
  return () => {
    if (screenKeys === keys) screenKeys = {}
  }
}

/** The keys that the help lists for the current screen. */
export function moreKeys(): readonly { readonly key: string; readonly word: string }[] {
  return Object.entries(screenKeys.more ?? {}).map(([key, { word }]) => ({ key, word }))
}

function inField(target: EventTarget | null): boolean {
  return (
    target instanceof Element &&
    target.closest('input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]') !== null
  )
}

/** The one key handler of the window. */
export function onKey(event: KeyboardEvent, openHelp: () => void): void {
  if (
    event.defaultPrevented ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    document.querySelector('dialog') !== null
  )
    return // a dialog is shown while it is there; Esc may close one for a moment
  if (event.key === 'Escape' && !inField(event.target)) return screenKeys.close?.()
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
  else if (key === 'j') screenKeys.next?.()
  else if (key === 'k') screenKeys.previous?.()
  else if (screenKeys.more?.[key] !== undefined) {
    // links and buttons handle Enter themselves
    if (key === 'enter' && event.target instanceof Element && event.target.closest('a, button, summary') !== null)
      return
    event.preventDefault()
    screenKeys.more[key]?.act()
  } else if (event.key === '/') {
    const search = document.querySelector<HTMLInputElement>('[data-search]')
    if (search === null) return
    event.preventDefault()
    search.focus()
    search.select()
  }
}
