import type { Component } from 'svelte'
import { ROWS, type Screen, type ScreenProps } from '../screens.ts'

type View = Component<ScreenProps>

const FILES = import.meta.glob<View>('../screens/*/*.svelte', { import: 'default' })

async function load({ file }: Screen): Promise<View> {
  const found = FILES[`../screens/${file}`]
  if (found === undefined) throw new Error(`The console has no screen ${file}.`)
  return found()
}

/** What the window shows: a screen with its code, or that its code could not be fetched. */
export type Opened =
  | { readonly state: 'ready'; readonly screen: Screen; readonly View: View }
  | { readonly state: 'missing'; readonly screen: Screen }

let opened = $state.raw<Opened>()
let wanted: Screen | undefined
let isFetching = false

/** The screen that was opened last and whose code has come; the one before stays until then. */
export function openedScreen(): Opened | undefined {
  return opened
}

/** Fetches the code of the other screens while nobody waits, so that they open also while the service is away. */
function fetchOthers(): void {
  if (isFetching) return
  isFetching = true
  const rest = [...ROWS]
  const next = (): void => {
    const row = rest.shift()
    if (row !== undefined) load(row).then(soon, () => (isFetching = false))
  }
  const soon = (): void => {
    // Safari has no requestIdleCallback
    if ('requestIdleCallback' in window) requestIdleCallback(next)
    else setTimeout(next, 50)
  }
  soon()
}

/** Opens a screen. The code of each is a file of its own, fetched at the first time. */
export async function open(screen: Screen): Promise<void> {
  wanted = screen
  try {
    const View = await load(screen)
    if (wanted === screen) opened = { state: 'ready', screen, View }
    fetchOthers()
  } catch {
    if (wanted === screen) opened = { state: 'missing', screen }
  }
}
