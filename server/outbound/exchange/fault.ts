import { fail } from '../../core/errors.ts'

/** Why one server did not give a file. */
export class NetFault extends Error {
  readonly host: string
  readonly why: string
  /** Asking again may help. */
  readonly isPassing: boolean
  /** The server itself is out of order, and not only this file. */
  readonly isHosts: boolean
  readonly retryAfterMs: number | undefined

  constructor(given: {
    readonly host: string
    readonly why: string
    readonly isPassing?: boolean
    readonly isHosts?: boolean
    readonly retryAfterMs?: number | undefined
    readonly cause?: unknown
  }) {
    super(`${given.host}: ${given.why}`, given.cause === undefined ? {} : { cause: given.cause })
    this.name = 'NetFault'
    this.host = given.host
    this.why = given.why
    this.isPassing = given.isPassing ?? false
    this.isHosts = given.isHosts ?? false
    this.retryAfterMs = given.retryAfterMs
  }
}

/** Tells what the first server said, and then each mirror. @throws outbound_failed, always */
export function refuseAll(faults: readonly NetFault[]): never {
  const [first, ...others] = faults
  const mirrors = [...new Set(others.map(({ host, why }) => `its mirror ${host}: ${why}`))]
  return fail('outbound_failed', { host: first?.host ?? '', why: [first?.why, ...mirrors].join('; ') }, first)
}
