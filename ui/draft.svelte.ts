import { currentSession } from './session.svelte.ts'
import { onGone } from './work-place.ts'

/**
 * Settings that were changed and not saved, by dotted key. They survive a change of screen, and only this window has
 * them.
 */
export type Changes = Readonly<Record<string, unknown>>

let draft = $state.raw<{ readonly owner: string | undefined; readonly changes: Changes }>({
  owner: undefined,
  changes: {},
})

onGone(() => {
  draft = { owner: undefined, changes: {} }
})

export function currentDraft(): Changes {
  const { owner, changes } = draft
  return currentSession().me?.username === owner ? changes : {}
}

export function setDraft(changes: Changes): void {
  draft = { owner: currentSession().me?.username, changes }
}

/** Removes settings from the draft, after saving or discarding them. */
export function forget(keys: readonly string[]): void {
  const { owner, changes } = draft
  draft = { owner, changes: Object.fromEntries(Object.entries(changes).filter(([key]) => !keys.includes(key))) }
}
