import type { Redis } from 'ioredis'

/** The memory that replicas share: counters of limits, and messages between them. */
export interface Shared {
  readonly backend: 'redis' | 'memory'
  /** Undefined without Redis, and while Redis does not answer: callers then do without it. */
  client(): Redis | undefined
  /** Sends a message to the other replicas. It is lost when Redis does not answer, so nothing may depend on it. */
  tell(topic: string, message: unknown): void
  /** Receives messages of other replicas, never this one's own. */
  hear(topic: string, listener: (message: unknown) => void): void
  /** Calls back once when Redis goes away, and once when it is back. */
  onTrouble(listener: (trouble: string | undefined) => void): void
  /** Why Redis does not answer, for the health report; undefined when all is well. */
  trouble(): string | undefined
  close(): Promise<void>
}

/** For a single replica: nothing is shared, and nothing has to be. */
export const ALONE: Shared = {
  backend: 'memory',
  client: () => undefined,
  tell: () => undefined,
  hear: () => undefined,
  onTrouble: () => undefined,
  trouble: () => undefined,
  close: () => Promise.resolve(),
}
