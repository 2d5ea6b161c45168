import { Type } from '@sinclair/typebox'
import { safeStorage } from 'electron'
import { openKept } from '../core/kept.ts'
import type { SecretStore } from '../core/ports.ts'
import type { SecretPlaceCandidate } from '../core/secrets.ts'

const File = Type.Object({ secrets: Type.Record(Type.String(), Type.String()) })
/** Backends of Linux that encrypt with a key everybody knows. */
const NO_KEY = new Set(['basic_text', 'unknown'])

/** A file that the system encrypts, where there is no keychain to write to. */
export const encryptedFile = (path: string): SecretPlaceCandidate => ({
  name: 'encrypted file',
  open: async (): Promise<SecretStore> => {
    if (!(await safeStorage.isAsyncEncryptionAvailable())) throw new Error('the system offers no encryption')
    if (process.platform === 'linux' && NO_KEY.has(safeStorage.getSelectedStorageBackend()))
      throw new Error('the system would encrypt with a key that everybody knows')
    const kept = await openKept(path, File, { secrets: {} })
    const set = (secrets: Record<string, string>): Promise<void> => kept.set({ secrets })
    return {
      place: 'encrypted_file',
      find: async name => {
        const text = kept.value.secrets[name]
        return text === undefined
          ? undefined
          : (await safeStorage.decryptStringAsync(Buffer.from(text, 'base64'))).result
      },
      set: async (name, value) => {
        const encrypted = await safeStorage.encryptStringAsync(value)
        await set({ ...kept.value.secrets, [name]: encrypted.toString('base64') })
      },
      remove: name => {
        const { [name]: _, ...others } = kept.value.secrets
        return set(others)
      },
    }
  },
})
