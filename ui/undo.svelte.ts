/** What waits a moment before it is sent, or was sent and can still be taken back. Shown as a message with a button. */
export interface Waiting {
  readonly id: number
  readonly title: string
  readonly text: string
  /** By `performance.now()`, when it can no longer be taken back, and how long that is. */
  readonly until: number
  readonly ms: number
  /** What it is about, for the screens that show it; empty for none. */
  readonly key: string
}

interface Wish {
  readonly title: string
  readonly text?: string
  readonly ms: number
  readonly key?: string
  /** Done when the time is over, when the page is left, and before signing out; absent where it was sent already. */
  readonly act?: () => Promise<void>
  /** Done instead of `act` when somebody takes it back. */
  readonly undo: () => void | Promise<void>
}

let waiting = $state.raw<readonly Waiting[]>([])
const wishes = new Map<number, Wish & { readonly timer: ReturnType<typeof setTimeout> }>()
let next = 1

export const waitingNow = (): readonly Waiting[] => waiting
/** The one that is about this, if any. */
export const waitingFor = (key: string): Waiting | undefined => waiting.find(one => one.key === key)

function take(id: number): Wish | undefined {
  const wish = wishes.get(id)
  if (wish !== undefined) clearTimeout(wish.timer)
  wishes.delete(id)
  waiting = waiting.filter(one => one.id !== id)
  return wish
}

const finish = async (id: number): Promise<void> => take(id)?.act?.()

/** Shows it, and does it unless it is taken back in time. */
export function undoable(wish: Wish): void {
  const id = next++
  const { title, text = '', ms, key = '' } = wish
  wishes.set(id, { ...wish, timer: setTimeout(() => void finish(id), ms) })
  waiting = [...waiting, { id, title, text, ms, key, until: performance.now() + ms }]
}

/** Takes one back; the newest when no id is given. */
export async function takeBack(id = waiting.at(-1)?.id): Promise<void> {
  if (id !== undefined) await take(id)?.undo()
}

/** Does now all that waits: the page is left, or somebody signs out. */
export async function finishAll(): Promise<void> {
  await Promise.all(waiting.map(({ id }) => finish(id)))
}

/** Whether something is not sent yet. */
export const isUnsent = (): boolean => waiting.some(({ id }) => wishes.get(id)?.act !== undefined)
