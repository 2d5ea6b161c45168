import { currentSession } from '../../session.svelte.ts'
import { onGone, workPlace } from '../../work-place.ts'
import type { ReviewItem } from '../../wire.ts'
import type { DecisionId } from './decide.ts'
import { keyOf, type RowKey } from './queue-query.ts'

/** A decision that is not sent: the choice and the reason, as far as somebody came. */
export interface Draft {
  readonly decision: DecisionId | undefined
  readonly justification: string
  readonly ends: string
  readonly date: string
}

/** A row that is ticked, as it was seen last. */
export type Ticked = RowKey & Pick<ReviewItem, 'updated_at' | 'uploaded_by'>

/** What is ticked, and the draft about it. */
export interface Ticks {
  /** The part of the address that the list depends on. */
  readonly part: string
  /** All that match are meant; `rows` are only those that were ticked. */
  readonly all: boolean
  readonly rows: readonly Ticked[]
  readonly draft?: Draft | undefined
}

/** Of one person; it survives reloading the page and the end of a session, and ends with the tab or by signing out. */
interface Kept {
  readonly owner: string
  readonly ticks?: Ticks | undefined
  readonly drafts: Readonly<Record<string, Draft>>
}

const MOST = 100
const place = workPlace('review')

// our own shape: nobody else writes it
let kept = $state.raw((place.read() ?? undefined) as Kept | undefined)
onGone(() => {
  kept = undefined
})
const mine = (): Kept => {
  const owner = currentSession().me?.username ?? ''
  return kept?.owner === owner ? kept : { owner, drafts: {} }
}

function keep(change: Partial<Kept>): void {
  if (mine().owner === '') return // a part that goes with its person
  kept = { ...mine(), ...change }
  place.write(kept)
}

/** What this person had thought about one package. */
export const draftOf = (row: RowKey): Draft | undefined => mine().drafts[keyOf(row)]

export function keepDraft(row: RowKey, draft: Draft): void {
  const others = Object.entries(mine().drafts).filter(([key]) => key !== keyOf(row))
  keep({ drafts: Object.fromEntries([...others, [keyOf(row), draft] as const].slice(-MOST)) })
}

/** Forgets a draft that was sent; not another one that was written since. */
export function forgetDraft(row: RowKey, sent: Draft): void {
  const now = draftOf(row)
  if (now === undefined || now.decision !== sent.decision || now.justification !== sent.justification) return
  keep({ drafts: Object.fromEntries(Object.entries(mine().drafts).filter(([key]) => key !== keyOf(row))) })
}

/** What is ticked in this list. */
export function ticksIn(part: string): Ticks {
  const { ticks } = mine()
  return ticks?.part === part ? ticks : { part, all: false, rows: [] }
}

export const keepTicks = (ticks: Ticks | undefined): void => keep({ ticks })

/** Ticks again what was ticked. @returns false when something else is by now: that stays */
export function tickAgain(ticks: Ticks): boolean {
  if ((mine().ticks?.rows.length ?? 0) > 0) return false
  keepTicks(ticks)
  return true
}
