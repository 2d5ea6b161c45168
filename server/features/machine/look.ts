import type { Clock } from '../../lib/clock.ts'
import type { Machine } from '../../machine/client.ts'
import type { MachineView } from '../../machine/protocol.ts'

/** The machine as it was seen last. */
export interface Look {
  /** What it says of itself, at most some seconds old. @throws machine_absent, machine_silent, machine_refused */
  view(): Promise<MachineView>
  /** It was changed: the next view is a new one. */
  forget(): void
}

/** A look asks name servers and time servers; several people and the health report share one. */
const FRESH_MS = 4_000

/** Looks at most once in some seconds; a failure is not kept. */
export function createLook({ machine, clock }: { readonly machine: Machine; readonly clock: Clock }): Look {
  let kept: { readonly at: number; readonly answer: Promise<MachineView> } | undefined
  return {
    view: () => {
      const now = clock.now().getTime()
      if (kept !== undefined && now >= kept.at && now - kept.at < FRESH_MS) return kept.answer
      const mine = { at: now, answer: machine.ask('machine.read', {}) }
      kept = mine
      mine.answer.catch(() => {
        if (kept === mine) kept = undefined
      })
      return mine.answer
    },
    forget: () => {
      kept = undefined
    },
  }
}
