import { liveState } from './live.svelte.ts'
import { needs } from './session.svelte.ts'

/** Why nothing can be saved now, or undefined. Typed text stays until the server is back. */
export function disconnected(): string | undefined {
  return liveState().state === 'offline' ? 'There is no connection to the server.' : undefined
}

/**
 * Why the signed-in person cannot do something now: the role, then the connection; undefined when nothing stands
 * against it.
 */
export function blocked(least: Parameters<typeof needs>[0]): string | undefined {
  return needs(least) ?? disconnected()
}
