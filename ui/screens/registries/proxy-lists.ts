import { call } from '../../api.ts'
import type { HIDDEN, HiddenVersion } from './proxies.ts'

/** Which part of a list is read. */
interface Part {
  readonly page: number
  readonly per_page: number
}
/** What a filter says; nothing filters nothing. */
type Wanted = string | null | undefined
interface Found {
  readonly total: number
  readonly per_page: number
}
const withPages = <Of extends Found, Row>(found: Of, items: readonly Row[]) => ({
  ...found,
  items,
  pages: Math.ceil(found.total / found.per_page),
})
const withSignal = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { signal })

/** A page of what a proxy hides. */
export async function readHidden(
  registry: string,
  { q, because, ...part }: Part & { readonly q: Wanted; readonly because: Wanted },
  signal?: AbortSignal,
) {
  const found = await call('GET /registries/{name}/hidden', {
    params: { name: registry },
    query: {
      ...part,
      ...(q ? { q } : {}),
      ...(because ? { because: because as HiddenVersion['because'] & keyof typeof HIDDEN } : {}),
    },
    ...withSignal(signal),
  })
  return withPages(found, found.hidden)
}

/** A page of what somebody lets through. */
export async function readWaivers(registry: string, part: Part, signal?: AbortSignal) {
  const found = await call('GET /registries/{name}/waivers', {
    params: { name: registry },
    query: { ...part },
    ...withSignal(signal),
  })
  return withPages(found, found.waivers)
}

/** A page of the names that somebody asked for. @param wanted.lookalike  only those that look like one of the house */
export async function readAsked(
  registry: string,
  { q, lookalike, ...part }: Part & { readonly q: Wanted; readonly lookalike: Wanted },
  signal?: AbortSignal,
) {
  const found = await call('GET /registries/{name}/asked', {
    params: { name: registry },
    query: { ...part, ...(q ? { q } : {}), ...(lookalike ? { lookalike: true } : {}) },
    ...withSignal(signal),
  })
  return withPages(found, found.asked)
}
