import type { Ask, Connection, DesktopBridge, EventValues, HostView, Reply } from '../electron/core/bridge.ts'
import type { Channel, EventName } from '../electron/core/channels.ts'
import { WORDS } from '../electron/core/words.ts'
import { ApiProblem } from './api.ts'
import { namedByServer } from './appliance.svelte.ts'

export type {
  ChangedView,
  Connection,
  FoundAppliance,
  LookView,
  ReleaseView,
  UploadsView,
  UploadView,
} from '../electron/core/bridge.ts'

declare global {
  interface Window {
    /** Defined by the desktop program, before the page runs. */
    readonly gatehouse?: DesktopBridge
  }
}

/** The desktop program around this page. */
export interface Desktop {
  readonly about: HostView
  readonly bridge: DesktopBridge
  /** Asks the program. @throws ApiProblem with its sentence */
  ask<C extends Channel>(channel: C, ask: Ask<C>): Promise<Reply<C>>
  on<E extends EventName>(event: E, listener: (value: EventValues[E]) => void): () => void
}

let desktop: Desktop | undefined

/** Whether the desktop program is around this page; known before it is met. */
export const isDesktop = (): boolean => globalThis.window?.gatehouse !== undefined

/** The desktop program, or undefined in a browser. Known before the console is mounted. */
export function desktopHost(): Desktop | undefined {
  return desktop
}

/** The appliance of this page in the desktop program; undefined in a browser and on the page with all appliances. */
export function appliance(): Connection | undefined {
  return desktop?.about.appliance ?? undefined
}

/** What people call the server of this page. */
export function serverName(): string {
  return appliance()?.name ?? (namedByServer().name || globalThis.location?.hostname || 'Gatehouse')
}

/** What the server of this page is for: `Production`; empty where nobody said. */
export function environment(): string {
  return appliance()?.environment || namedByServer().environment
}

/** A page's title, with the server's name where it has one: `Packages · Plant A (Production) · Gatehouse`. */
export function pageTitle(page: string): string {
  const name = appliance()?.name ?? namedByServer().name
  const server = [name, environment() && `(${environment()})`].filter(Boolean).join(' ')
  return [page, server, 'Gatehouse'].filter(Boolean).join(' · ')
}

/** Gives the window the server's colour; one that was chosen in the desktop program stays. */
export function colourWindow(): void {
  const colour = appliance()?.colour ?? namedByServer().colour
  const { classList } = document.documentElement
  classList.remove(...[...classList].filter(name => name.startsWith('a-')))
  classList.add(`a-${colour}`)
}

/** Where others reach the server of this page: `https://gatehouse-01.nordwerk.lan`. */
export function serverOrigin(): string {
  return appliance()?.origin ?? globalThis.location.origin
}

async function askBridge<C extends Channel>(bridge: DesktopBridge, channel: C, ask: Ask<C>): Promise<Reply<C>> {
  const answer = await bridge.invoke(channel, ask)
  if (answer.ok) return answer.value
  throw new ApiProblem({ status: 0, code: answer.code, message: answer.message })
}

/** How long a sign-in lasts here, for the sign-in itself. */
export function sessionLasts(): string {
  if (desktop === undefined) return 'Signed in until this tab is closed.'
  const { secrets, preferences } = desktop.about
  return secrets !== 'memory' && preferences.stay_signed_in
    ? 'Signed in until you sign out, or the session ends.'
    : 'Signed in until the program ends.'
}

/** Learns whether a browser or the desktop program is around the page. */
export async function meetHost(): Promise<void> {
  const bridge = globalThis.window?.gatehouse
  if (bridge === undefined) return
  desktop = {
    bridge,
    about: await askBridge(bridge, 'host.describe', {}),
    ask: (channel, ask) => askBridge(bridge, channel, ask),
    on: (event, listener) => bridge.on(event, listener),
  }
  if (appliance() !== undefined) colourWindow()
  // its menu and its messages speak as the page does; they can do without
  void askBridge(bridge, 'host.words', WORDS).catch(() => undefined)
}
