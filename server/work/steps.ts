import type { Run } from '../core/work.ts'

const APART_MS = 500

/**
 * For work that tells how far it is by a callback: records it twice a second at most. The callback throws once the run
 * has ended.
 */
export function stepsOf(run: Pick<Run<unknown>, 'signal' | 'step'>): {
  readonly told: (done: number, total: number) => void
  /** Waits for what is being recorded. @throws what the last step was refused with */
  readonly settled: () => Promise<void>
} {
  let saidAt = -APART_MS
  let saying: Promise<void> = Promise.resolve()
  let refused: unknown
  return {
    told: (done, total) => {
      run.signal.throwIfAborted()
      if (refused !== undefined) throw refused as Error
      if (performance.now() - saidAt < APART_MS && done < total) return
      saidAt = performance.now()
      saying = saying
        .then(() => run.step({ done, total }))
        .catch((error: unknown) => {
          refused = error
        })
    },
    settled: async () => {
      await saying
      if (refused !== undefined) throw refused as Error
    },
  }
}
