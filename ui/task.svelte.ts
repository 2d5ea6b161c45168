/** What a press begins: one at a time, named while it runs, and a refusal that stays until the next try. */
export interface Task {
  /** The work that runs now, as the button calls it: `Saving`. */
  readonly busy: string | undefined
  /** What the last try was refused with. */
  readonly problem: unknown
  /** The word when it is this work that runs: for one of several buttons. */
  readonly during: (word: string) => string | undefined
  /** Runs it unless something runs already. @returns whether it was done */
  readonly run: (word: string, work: () => Promise<unknown>) => Promise<boolean>
  /** Forgets the refusal. */
  readonly clear: () => void
}

/**
 * A task of a component; call it while the component is set up.
 * @param onproblem  hears of a refusal before it is shown
 */
export function createTask(onproblem: (problem: unknown) => void = () => {}): Task {
  let busy = $state<string>()
  let problem = $state.raw<unknown>()

  async function run(word: string, work: () => Promise<unknown>): Promise<boolean> {
    if (busy !== undefined) return false
    busy = word
    problem = undefined
    try {
      await work()
      return true
    } catch (error) {
      onproblem(error)
      problem = error
      return false
    } finally {
      busy = undefined
    }
  }
  return {
    get busy() {
      return busy
    },
    get problem() {
      return problem
    },
    during: word => (busy === word ? word : undefined),
    run,
    clear: () => {
      problem = undefined
    },
  }
}
