import { ApiProblem, call } from '../../api.ts'
import { resource, type Resource } from '../../resource.svelte.ts'
import { currentBasket, type Basket } from './basket.svelte.ts'
import { joinClosures, type Resolved, type Whole } from './closure.ts'

/** What the basket brings, and which of it nobody knows. */
export interface Worked {
  readonly whole: Whole
  /** As it was worked out for: the basket may leave both to the settings. */
  readonly arch: string | undefined
  readonly base: Resolved['base'] | undefined
  readonly refused: readonly { readonly name: string; readonly problem: unknown }[]
  /** The distribution has no index yet. */
  readonly isMissing: boolean
}

/**
 * Works out what the basket brings, again whenever it changes; undefined while it is empty. What was worked out once is
 * kept until `anew`. Call it while a component is set up.
 */
export function createWorked(): Resource<Worked | undefined> & { readonly anew: () => void } {
  const known = new Map<string, Resolved>()

  async function resolve(
    { codename = '', arch, recommends, base }: Basket,
    { name, version }: Basket['wishes'][number],
    signal: AbortSignal,
  ): Promise<Resolved> {
    const query = {
      distribution: codename,
      ...(version === undefined ? {} : { version }),
      ...(arch === undefined ? {} : { arch }),
      ...(recommends ? { recommends } : {}),
      ...(base === undefined ? {} : { base }),
    }
    const key = JSON.stringify([name, query])
    const found = known.get(key) ?? (await call('GET /import/resolve/{name}', { signal, params: { name }, query }))
    known.set(key, found)
    return found
  }

  const worked = resource(async (signal): Promise<Worked | undefined> => {
    const basket = currentBasket()
    if (basket.wishes.length === 0) return undefined
    const all: Resolved[] = []
    const refused: { name: string; problem: unknown }[] = []
    for (const wish of basket.wishes)
      try {
        all.push(await resolve(basket, wish, signal))
      } catch (problem) {
        const isAnswer = problem instanceof ApiProblem && problem.status >= 400 && problem.status < 500
        if (signal.aborted || !isAnswer || problem.status === 401) throw problem
        refused.push({ name: wish.name, problem })
      }
    return {
      whole: joinClosures(all),
      arch: all[0]?.arch,
      base: all[0]?.base,
      refused,
      isMissing: refused.some(({ problem }) => problem instanceof ApiProblem && problem.status === 424),
    }
  })
  return {
    get value() {
      return worked.value
    },
    get problem() {
      return worked.problem
    },
    get readAt() {
      return worked.readAt
    },
    get loading() {
      return worked.loading
    },
    reload: worked.reload,
    anew() {
      known.clear()
      void worked.reload()
    },
  }
}
