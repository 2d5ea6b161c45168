import { isRefusal } from '../../core/errors.ts'
import type { GuardedFetch } from '../../outbound/fetch.ts'

/** Who answers at an address, as this machine sees it. */
export interface AddressLook {
  /** `this` process, `another` service, or `nobody`. */
  readonly answers: 'this' | 'another' | 'nobody'
  /** The host leads every machine to itself. */
  readonly local: boolean
  /** Why nobody answers. */
  readonly why: string | null
}

export interface AddressCheck {
  /** @param url  without a slash at its end */
  look(url: string): Promise<AddressLook>
  /** Tells that a request with this id has arrived here. */
  saw(requestId: unknown): void
}

const TIMEOUT_MS = 5_000
const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/i

/**
 * Calls an address that clients are to use and watches whether the call arrives here. It asks one fixed path without
 * a credential, and tells nothing of the answer.
 */
export function createAddressCheck({
  fetch,
  newId,
}: {
  readonly fetch: GuardedFetch
  readonly newId: () => string
}): AddressCheck {
  const waiting = new Map<string, boolean>()
  return {
    saw(requestId) {
      if (typeof requestId === 'string' && waiting.has(requestId)) waiting.set(requestId, true)
    },
    async look(url) {
      const { hostname } = new URL(url)
      const local = LOOPBACK.test(hostname)
      const id = newId()
      waiting.set(id, false)
      try {
        await fetch(`${url}/api/v1/setup/status`, {
          headers: { 'X-Request-ID': id },
          allow: hostname.replace(/^\[|\]$/g, ''),
          redirects: 0,
          timeoutMs: TIMEOUT_MS,
          limitBytes: 65_536,
        })
        return { answers: waiting.get(id) === true ? 'this' : 'another', local, why: null }
      } catch (error) {
        if (waiting.get(id) === true) return { answers: 'this', local, why: null }
        if (!isRefusal(error)) throw error
        return { answers: 'nobody', local, why: error.message }
      } finally {
        waiting.delete(id)
      }
    },
  }
}
