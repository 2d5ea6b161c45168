import { currentSession } from '../../session.svelte.ts'

/** What was typed and not saved, by dotted key. It outlives the screen, and ends with the session it was typed in. */
export type Changes = Readonly<Record<string, unknown>>

let owner: string | undefined
let changes = $state.raw<Changes>({})

export function currentDraft(): Changes {
  return currentSession().me?.username === owner ? changes : {}
}

export function setDraft(next: Changes): void {
  owner = currentSession().me?.username
  changes = next
}
