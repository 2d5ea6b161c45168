/** What became of one item of a group. */
export type Outcome<Result> = { readonly value: Result } | { readonly error: unknown }

export interface GroupsOptions<Item, Result> {
  /** At most so many in one group. */
  readonly most: number
  /** Two items with a key in common never share a group. */
  readonly keysOf: (item: Item) => readonly string[]
  /**
   * Does the work of one group; answers in the order of the items. When it throws, it has done nothing, and is tried
   * again with each item alone: one that cannot be done must not take the others with it.
   */
  readonly work: (items: readonly Item[]) => Promise<readonly Outcome<Result>[]>
  /** Whether an error would meet every item alone, too: then all fail with it at once. */
  readonly concernsAll: (error: unknown) => boolean
}

/** Does together what is asked for while others are at work: one commit for all of them instead of one for each. */
export interface Groups<Item, Result> {
  /** Takes part in the next group. */
  join(item: Item): Promise<Result>
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** Makes groups; one is at work at a time. */
export function createGroups<Item, Result>({
  most,
  keysOf,
  work,
  concernsAll,
}: GroupsOptions<Item, Result>): Groups<Item, Result> {
  let waiting: Waiting<Item, Result>[] = []
  let running = false

  function takeGroup(): Waiting<Item, Result>[] {
    const keys = new Set<string>()
    const group: Waiting<Item, Result>[] = []
    const rest: Waiting<Item, Result>[] = []
    for (const one of waiting) {
      const own = keysOf(one.item)
      // who waits for a rival keeps its place ahead of those that come after it
      const fits = group.length < most && own.every(key => !keys.has(key))
      for (const key of own) keys.add(key)
      ;(fits ? group : rest).push(one)
    }
    waiting = rest
    return group
  }

  /** The work of these, and of each alone where it fails for all of them. */
  async function answersFor(items: readonly Item[]): Promise<readonly Outcome<Result>[]> {
    try {
      return await work(items)
    } catch (error) {
      if (items.length <= 1 || concernsAll(error)) return items.map(() => ({ error }))
    }
    const outcomes: Outcome<Result>[] = []
    for (const item of items) outcomes.push(...(await answersFor([item])))
    return outcomes
  }

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const group = takeGroup()
      const outcomes = await answersFor(group.map(({ item }) => item))
      for (const [n, { resolve, reject }] of group.entries()) {
        const outcome = outcomes[n]
        if (outcome === undefined) reject(new Error('a group has answered for fewer items than it has'))
        else if ('error' in outcome) reject(outcome.error)
        else resolve(outcome.value)
      }
    }
    running = false
  }

  return {
    join: item =>
      new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject })
        if (running) return
        running = true
        // after the events that are here already: what arrived together is one group
        setImmediate(() => void run())
      }),
  }
}

/** These in rounds, in their order: no two of a round have a key in common. */
export function apart<Item>(items: readonly Item[], keysOf: (item: Item) => readonly string[]): Item[][] {
  const rounds: Item[][] = []
  const lastOf = new Map<string, number>()
  for (const item of items) {
    const keys = keysOf(item)
    const round = 1 + Math.max(-1, ...keys.map(key => lastOf.get(key) ?? -1))
    for (const key of keys) lastOf.set(key, round)
    ;(rounds[round] ??= []).push(item)
  }
  return rounds
}

/**
 * Reads what many ask for at the same time with one question. Whoever asks while a read runs takes part in the next
 * one, so the answer is never older than the question.
 * @param read  answers in the order of the keys
 * @param concernsAll  as in `GroupsOptions`
 */
export function shareReads<Key, Value>(
  read: (keys: readonly Key[]) => Promise<readonly Value[]>,
  concernsAll: (error: unknown) => boolean,
): (key: Key) => Promise<Value> {
  const { join } = createGroups<Key, Value>({
    most: 100,
    keysOf: () => [],
    work: async keys => (await read(keys)).map(value => ({ value })),
    concernsAll,
  })
  return join
}
