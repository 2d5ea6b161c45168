import type { ClientFacts } from '../core/client-setup.ts'
import type { RawRequest } from '../core/contract.ts'
import { repoUrl } from '../http/repo-url.ts'
import type { Settings } from '../settings/store.ts'
import type { Keyring } from '../signing/signer.ts'

/** The facts that set-up lines for clients need. */
export function createClientFacts({
  settings,
  keyring,
}: {
  readonly settings: Pick<Settings, 'now'>
  readonly keyring: Pick<Keyring, 'rsaKeys'>
}): (raw: RawRequest) => Promise<ClientFacts> {
  return async raw => ({
    url: repoUrl(raw, settings.now().app_url),
    signedPackages: settings.now().signing.rpm_packages,
    rsaKeys: (await keyring.rsaKeys()).map(key => key.key_name),
  })
}
