import { call } from './api.ts'
import type { Reply } from './wire.ts'
import { onGone } from './work-place.ts'

/** What only the server knows of the values that filters take; each is absent until it was read. */
export interface KnownValues {
  /** Codenames and names of registries that the person may see. */
  readonly dist?: readonly string[]
  readonly format?: readonly string[]
  /** Keys of sources of imports. */
  readonly source?: readonly string[]
}

let known = $state.raw<KnownValues>({})
onGone(() => {
  known = {}
})

/** Reading it in a component follows what is read. */
export const knownValues = (): KnownValues => known

/** Remembers what was read. */
export function keepValues(more: KnownValues): void {
  if (Object.entries(more).some(([key, all]) => String(all) !== String(known[key as keyof KnownValues])))
    known = { ...known, ...more }
}

/** The distributions and registries. */
export type Places = Reply<'GET /distributions/'> & Reply<'GET /registries/'>

/** Where packages can be; these then are the known places. @throws ApiProblem */
export async function readPlaces(signal?: AbortSignal): Promise<Places> {
  const ask = signal ? { signal } : {}
  const [{ distributions }, { registries }] = await Promise.all([
    call('GET /distributions/', ask),
    call('GET /registries/', ask),
  ])
  keepValues({
    dist: [...distributions.map(({ codename }) => codename), ...registries.map(({ name }) => name)],
    format: [...new Set<string>([...distributions, ...registries].map(({ format }) => format))],
  })
  return { distributions, registries }
}
