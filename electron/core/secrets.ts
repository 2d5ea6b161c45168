import type { SecretPlace, SecretStore } from './ports.ts'

/** How a place for secrets is opened. It throws, with the reason in words, where the system has none. */
export interface SecretPlaceCandidate {
  readonly name: string
  open(): Promise<SecretStore>
}

/** Where the secrets of this run lie, and why in no safer place. */
export interface Secrets extends SecretStore {
  readonly said: string | undefined
}

/** Secrets that are gone when the program ends. */
export function memorySecrets(): SecretStore {
  const kept = new Map<string, string>()
  return {
    place: 'memory',
    find: name => Promise.resolve(kept.get(name)),
    set: (name, value) => {
      kept.set(name, value)
      return Promise.resolve()
    },
    remove: name => {
      kept.delete(name)
      return Promise.resolve()
    },
  }
}

const PROBE = 'probe'

/** Writes, reads and removes a word: a keychain may be there and locked, or answer and keep nothing. */
async function prove(store: SecretStore): Promise<void> {
  const word = `word-${Math.random().toString(36).slice(2)}`
  await store.set(PROBE, word)
  if ((await store.find(PROBE)) !== word) throw new Error('it does not give back what was put in')
  await store.remove(PROBE)
}

const SAID: Readonly<Record<Exclude<SecretPlace, 'keychain'>, string>> = {
  encrypted_file: 'There is no keychain here, so sessions are kept in a file that this system encrypts.',
  memory: 'There is no keychain here, so sessions are kept in memory only: you sign in again when the program starts.',
}

/** Takes the first place that proves to work; the last resort is memory. Nothing is ever kept in plain text. */
export async function openSecrets(candidates: readonly SecretPlaceCandidate[]): Promise<Secrets> {
  const reasons: string[] = []
  for (const { name, open } of candidates) {
    try {
      const store = await open()
      await prove(store)
      const said = store.place === 'keychain' ? undefined : `${SAID[store.place]} ${reasons.join(' ')}`
      return { ...store, said }
    } catch (error) {
      reasons.push(`${name}: ${(error as Error).message.replace(/\.?$/, '.')}`)
    }
  }
  return { ...memorySecrets(), said: [SAID.memory, ...reasons].join(' ') }
}
