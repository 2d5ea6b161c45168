import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * The id of the request, or of the job's request, that the running code works for. Ambient, because it decides nothing:
 * it only lets log lines, audit lines and jobs of one request be found together.
 */
const scope = new AsyncLocalStorage<string | undefined>()

/** Runs `work`, and everything it starts, for the request `id`. */
export const inRequest = <T>(id: string | undefined, work: () => T): T => scope.run(id, work)

/** The id of the request that is being worked for. */
export const currentRequest = (): string | undefined => scope.getStore()
