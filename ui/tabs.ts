/**
 * The session of one browser in several tabs. A new tab asks the others of this console (BroadcastChannel reaches the
 * same origin only); one where somebody is signed in answers. Nothing is kept beyond the last tab.
 */
type Message =
  | { readonly kind: 'ask'; readonly id: string }
  | { readonly kind: 'give'; readonly id: string; readonly token: string }
  | { readonly kind: 'end'; readonly token: string }

/** Time for the answer of another tab, which may be asleep. */
const WAIT_MS = 250

export interface Tabs {
  /** The token of another tab, or undefined when none answers in time. */
  ask(): Promise<string | undefined>
  /** Ends the session of the other tabs that have this token. */
  end(token: string): void
}

/** @param mine  this tab's token while somebody is signed in  @param ended  another tab signed out with this token */
export function joinTabs(mine: () => string | undefined, ended: (token: string) => void): Tabs {
  if (typeof BroadcastChannel === 'undefined') return { ask: () => Promise.resolve(undefined), end: () => {} }
  const channel = new BroadcastChannel('gatehouse.session')
  const waiting = new Map<string, (token: string) => void>()
  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    const token = mine()
    if (data.kind === 'ask' && token !== undefined) channel.postMessage({ kind: 'give', id: data.id, token })
    else if (data.kind === 'give') waiting.get(data.id)?.(data.token)
    else if (data.kind === 'end') ended(data.token)
  })
  return {
    ask: () => {
      const id = crypto.getRandomValues(new Uint32Array(4)).join('-')
      const { promise, resolve } = Promise.withResolvers<string | undefined>()
      const timer = setTimeout(() => resolve(undefined), WAIT_MS)
      waiting.set(id, resolve)
      channel.postMessage({ kind: 'ask', id })
      return promise.finally(() => {
        clearTimeout(timer)
        waiting.delete(id)
      })
    },
    end: token => channel.postMessage({ kind: 'end', token }),
  }
}
