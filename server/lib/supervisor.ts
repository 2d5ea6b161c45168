import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** How systemd is told, and the service asked. */
export interface SupervisorDeps {
  /** Says one thing to systemd, such as `READY=1`; undefined where it did not start this process. */
  readonly say: ((message: string) => Promise<unknown>) | undefined
  /** systemd ends the service when that is silent for so long; undefined: it does not watch. */
  readonly watchdogMs: number | undefined
  /** Rejects where the service does not answer a request now. */
  readonly ask: () => Promise<unknown>
  readonly warn: (text: string) => void
}

/** Tells systemd how the service is. */
export interface Supervisor {
  /** Units that wait for the service may start, and the watchdog is fed from now on. */
  ready(): Promise<void>
  /** The service stops in order, and takes its time. */
  stopping(): Promise<void>
}

/**
 * Feeds the watchdog three times within its time, and only after the service answered a request on its own port: a
 * process that is there and answers nobody is ended and started again. Source: sd_notify(3), sd_watchdog_enabled(3).
 */
export function createSupervisor({ say, watchdogMs, ask, warn }: SupervisorDeps): Supervisor {
  let timer: NodeJS.Timeout | undefined
  let feeding: Promise<void> | undefined
  const tell = async (message: string): Promise<void> => {
    await say?.(message).catch((error: unknown) => warn(`systemd could not be told ${message}: ${String(error)}`))
  }
  const feed = (): Promise<void> =>
    ask().then(
      () => tell('WATCHDOG=1'),
      () => warn('The service does not answer itself. If that goes on, systemd starts it again.'),
    )
  return {
    async ready() {
      await tell('READY=1')
      if (say === undefined || watchdogMs === undefined) return
      timer = setInterval(() => {
        feeding ??= feed().finally(() => {
          feeding = undefined
        })
      }, watchdogMs / 3)
      timer.unref()
    },
    async stopping() {
      clearInterval(timer)
      await tell('STOPPING=1')
    },
  }
}

const run = promisify(execFile)

/** By systemd's own program: Node has no datagram sockets of the local kind. @param socket  NOTIFY_SOCKET */
export function systemdNotify(socket: string | undefined, path: string | undefined): SupervisorDeps['say'] {
  if (socket === undefined || socket === '') return undefined
  return message =>
    run('systemd-notify', [message], { env: { NOTIFY_SOCKET: socket, PATH: path ?? '/usr/bin:/bin' }, timeout: 30_000 })
}

/** @param usec  WATCHDOG_USEC */
export function watchdogMs(usec: string | undefined): number | undefined {
  return usec !== undefined && /^[1-9]\d*$/.test(usec) ? Number(usec) / 1_000 : undefined
}
