import { ApiProblem } from '../../api.ts'

/** A limit that was met: until when, and whether an error was one. */
export interface Pause {
  readonly until: Date | undefined
  /** True for a 429; the pause then ends by itself. */
  take(error: unknown): boolean
}

/** Call it while a component is set up. `ended` is called when the limit is over. */
export function createPause(ended: () => void = () => {}): Pause {
  let until = $state.raw<Date>()
  $effect(() => {
    if (until === undefined) return
    const timer = setTimeout(() => {
      until = undefined
      ended()
    }, until.getTime() - Date.now())
    return () => clearTimeout(timer)
  })
  return {
    get until() {
      return until
    },
    take: error => {
      if (!(error instanceof ApiProblem && error.status === 429)) return false
      until = new Date(Date.now() + (error.retryAfter ?? 60) * 1000)
      return true
    },
  }
}
