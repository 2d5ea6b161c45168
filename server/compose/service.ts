import type { Listener } from '../http/listener.ts'
import type { Scanners } from '../scanners/index.ts'
import type { ServiceLogs } from './logs.ts'

/** The running service. */
export interface Service {
  /** Listens, repairs, and resolves when every request can be served; the trees are served before that. */
  start(): Promise<{ readonly url: string; readonly needsSetup: boolean }>
  /**
   * Stops everything but the trees, which are served as they are; all other requests are told what is being done.
   * @returns what the service that takes over is composed with
   */
  hold(doing: string): Promise<Lasting>
  /** Refuses new requests, finishes uploads and publications, closes everything. */
  stop(): Promise<void>
}

/** The port and the log files. */
export interface Lasting {
  readonly listener: Listener
  readonly logs: ServiceLogs
}

export interface ComposeOptions {
  readonly uiFolder: string
  /** What outlives the service that this one takes over from. */
  readonly lasting?: Lasting
  /** Called once when a backup is to be restored: somebody has to stop this service, and compose it again. */
  readonly onRestore?: () => void
  /** Engines instead of the built-in ones, for tests: they stand for the outside world. */
  readonly engines?: Partial<Scanners>
}
