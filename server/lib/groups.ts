/** What became of one item of a group. */
export type Outcome<Result> = { readonly value: Result } | { readonly error: unknown }

export interface GroupsOptions<Item, Result> {
  /** At most so many in one group. */
  readonly most: number
  /** Two items with a key in common never share a group. */
  readonly keysOf: (item: Item) => readonly string[]
  /** Does the work of one group; answers in the order of the items. When it throws, each item fails with that. */
  readonly work: (items: readonly Item[]) => Promise<readonly Outcome<Result>[]>
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
export function createGroups<Item, Result>({ most, keysOf, work }: GroupsOptions<Item, Result>): Groups<Item, Result> {
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

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const group = takeGroup()
      try {
        const outcomes = await work(group.map(({ item }) => item))
        for (const [n, { resolve, reject }] of group.entries()) {
          const outcome = outcomes[n]
          if (outcome === undefined) reject(new Error('a group has answered for fewer items than it has'))
          else if ('error' in outcome) reject(outcome.error)
          else resolve(outcome.value)
        }
      } catch (error) {
        for (const { reject } of group) reject(error)
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
