import type { SecretStore } from '../core/ports.ts'
import type { SecretPlaceCandidate } from '../core/secrets.ts'

/** The name that the system shows for our secrets. */
const SERVICE = 'Gatehouse'

/** The system's keychain: Secret Service, Keychain, Credential Manager. Its native part may be missing or fail. */
export const keychain: SecretPlaceCandidate = {
  name: 'keychain',
  open: async (): Promise<SecretStore> => {
    const { default: keytar } = await import('keytar')
    return {
      place: 'keychain',
      find: async name => (await keytar.getPassword(SERVICE, name)) ?? undefined,
      set: (name, value) => keytar.setPassword(SERVICE, name, value),
      remove: async name => {
        await keytar.deletePassword(SERVICE, name)
      },
    }
  },
}
