import { AsyncLocalStorage } from 'node:async_hooks'

const hidden = new AsyncLocalStorage<readonly string[]>()
const NOTHING: readonly string[] = []

/** Runs a request's work so that everything it starts knows which codenames its caller may not see. */
export function seeingAllBut<T>(codenames: readonly string[], work: () => T): T {
  return hidden.run(codenames, work)
}

/** Codenames that are hidden from whoever this work is done for; none outside of a request. */
export function hiddenNow(): readonly string[] {
  return hidden.getStore() ?? NOTHING
}
