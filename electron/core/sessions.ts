import type { Log, SecretStore } from './ports.ts'

/**
 * The sessions of this person, one for each appliance: access tokens only, never a password, never a setup token. They
 * outlive the program where the person wants that and the secrets have a safe place.
 */
export interface Sessions {
  find(id: string): Promise<string | undefined>
  keep(id: string, token: string): Promise<void>
  forget(id: string): Promise<void>
  /** Forgets it if it is still this one: the server refused it, and somebody may have signed in since. */
  forgetToken(id: string, token: string): Promise<void>
  /** Takes kept sessions away, or keeps those of now, after the preference changed. */
  setStay(stay: boolean, ids: readonly string[]): Promise<void>
  /** Calls back after a session began or ended. */
  onMoved(listener: (id: string) => void): void
}

const nameOf = (id: string): string => `session.${id}`

export function createSessions(secrets: SecretStore, log: Log, stayAtFirst: boolean): Sessions {
  const now = new Map<string, string>()
  const gone = new Set<string>()
  const listeners = new Set<(id: string) => void>()
  let stay = stayAtFirst

  const tell = (id: string): void => {
    for (const listener of listeners) listener(id)
  }
  /** A keychain that fails later costs a sign-in, not the session of now. */
  async function quietly<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      log.line('warn', `the place for secrets failed: ${(error as Error).message}`)
      return undefined
    }
  }
  async function forget(id: string): Promise<void> {
    const had = now.delete(id)
    gone.add(id)
    await quietly(() => secrets.remove(nameOf(id)))
    if (had) tell(id)
  }
  return {
    forget,
    forgetToken: async (id, token) => {
      if (now.get(id) === token) await forget(id)
    },
    find: async id => {
      const token = now.get(id)
      if (token !== undefined || gone.has(id)) return token
      const kept = stay ? await quietly(() => secrets.find(nameOf(id))) : undefined
      // signed in or out while the keychain was asked
      if (now.has(id) || gone.has(id)) return now.get(id)
      if (kept !== undefined) now.set(id, kept)
      else gone.add(id)
      return kept
    },
    keep: async (id, token) => {
      const began = !now.has(id)
      now.set(id, token)
      gone.delete(id)
      if (stay) await quietly(() => secrets.set(nameOf(id), token))
      if (began) tell(id)
    },
    setStay: async (next, ids) => {
      stay = next
      for (const id of ids) {
        const token = now.get(id)
        if (!stay) await quietly(() => secrets.remove(nameOf(id)))
        else if (token !== undefined) await quietly(() => secrets.set(nameOf(id), token))
      }
    },
    onMoved: listener => {
      listeners.add(listener)
    },
  }
}
