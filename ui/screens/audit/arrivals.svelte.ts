import { call } from '../../api.ts'
import { onLive } from '../../live.svelte.ts'
import type { Resource } from '../../resource.svelte.ts'
import type { Reply } from '../../wire.ts'

/** Many packages may move at once: one look for all of them. */
const GATHER_MS = 400
/** What no live event tells of, as a sign-in, is looked for this often. */
const LOOK_MS = 10_000

interface Ask {
  /** As JSON. */
  readonly filter: () => string
  readonly follows: () => boolean
  /** While this holds, new lines are counted and the list is left alone. */
  readonly standsStill: () => boolean
}

/**
 * Brings new lines into a list of the audit log as they come, or counts them. Call it while a component is set up.
 * @param list  the first page, unless `standsStill`
 */
export function createArrivals(
  list: Resource<Reply<'GET /artifacts/audit/logs'>>,
  { filter, follows, standsStill }: Ask,
): { readonly count: number } {
  let total = $state<number>()
  let looking = false
  // what was read since has all of them
  $effect(() => {
    if (list.readAt !== undefined) total = undefined
  })

  async function look(): Promise<void> {
    if (looking || list.loading || list.value === undefined) return
    looking = true
    const asked = filter()
    try {
      const query = { ...(JSON.parse(asked) as object), page: 1, per_page: 1 }
      const answer = await call('GET /artifacts/audit/logs', { query })
      if (asked !== filter() || !follows()) return
      if (answer.total === list.value.total) total = undefined
      else if (standsStill()) total = answer.total
      else await list.reload()
    } catch {
      // the list itself says what is wrong with the connection
    } finally {
      looking = false
    }
  }

  $effect(() => {
    if (!follows()) {
      total = undefined
      return
    }
    let soon: ReturnType<typeof setTimeout> | undefined
    const stop = onLive(() => {
      soon ??= setTimeout(() => {
        soon = undefined
        void look()
      }, GATHER_MS)
    })
    const often = setInterval(() => {
      if (document.visibilityState === 'visible') void look()
    }, LOOK_MS)
    return () => {
      stop()
      clearTimeout(soon)
      clearInterval(often)
    }
  })

  return {
    get count() {
      return Math.max(0, (total ?? 0) - (list.value?.total ?? 0))
    },
  }
}
