/** What the live streams tell: small, without secrets, the same for every role. */
export interface LiveEvent {
  readonly type: 'package.state' | 'publication' | 'engine' | 'settings' | 'upload'
  readonly at: string
  readonly data: Readonly<Record<string, unknown>>
}

/** The in-process list behind `GET /dashboard/events`: the last 1,000 events, numbered, so that a client can resume. */
export interface Events {
  emit(event: LiveEvent): void
  /** Yields events after `lastId`, then new ones as they come; ends when the signal aborts. */
  follow(lastId: string | undefined, signal: AbortSignal): AsyncIterable<{ readonly id: string; readonly event: LiveEvent }>
}
