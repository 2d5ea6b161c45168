import { call } from './api.ts'
import type { Reply } from './wire.ts'
import { onGone } from './work-place.ts'

/** What only the server knows of the values that filters take; each is absent until it was read. */
export interface KnownValues {
  /** Codenames that the person may see. */
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

/** The distributions, which then are the known ones. @throws ApiProblem */
export async function readDistributions(signal?: AbortSignal): Promise<Reply<'GET /distributions/'>> {
  const read = await call('GET /distributions/', signal ? { signal } : {})
  keepValues({
    dist: read.distributions.map(({ codename }) => codename),
    format: [...new Set<string>(read.distributions.map(({ format }) => format))],
  })
  return read
}
