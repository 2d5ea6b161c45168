/** What a start is doing: `rebuilding the database from the manifests`. */
export interface StartStep {
  readonly doing: string
  /** The service stopped in order, for something that nobody may work beside. */
  readonly maintenance?: true
  readonly done?: number
  readonly of?: number
}

/** How far the start is, for those who ask before it has ended. */
export interface Starting {
  /** Undefined once every request is served. */
  now(): StartStep | undefined
  step(doing: string, progress?: { readonly done: number; readonly of: number }): void
  finish(): void
  /** From here on only trees are served. */
  maintain(doing: string): void
}

/** `rebuilding the database from the manifests, 500 of 20000` */
export function printStep({ doing, done, of }: StartStep): string {
  return done === undefined ? doing : `${doing}, ${done} of ${of}`
}

/** The progress of one start. */
export function createStarting(): Starting {
  let step: StartStep | undefined = { doing: 'opening the database' }
  let isOver = false
  return {
    now: () => step,
    step: (doing, progress = undefined) => {
      // a replica that begins to lead later serves requests meanwhile
      if (!isOver) step = { doing, ...progress }
    },
    finish: () => {
      step = undefined
      isOver = true
    },
    maintain: doing => {
      step = { doing, maintenance: true }
    },
  }
}
