import type { AppAddress } from '../core/app-address.ts'
import type { ClientFacts } from '../core/client-setup.ts'
import type { RawRequest } from '../core/contract.ts'
import type { Settings } from '../settings/store.ts'
import type { Keyring } from '../signing/signer.ts'

/** The facts that set-up lines for clients need. */
export function createClientFacts({
  address,
  settings,
  keyring,
  privateTrees,
}: {
  readonly address: Pick<AppAddress, 'repository'>
  readonly settings: Pick<Settings, 'now'>
  readonly keyring: Pick<Keyring, 'rsaKeys'>
  readonly privateTrees: () => Promise<ReadonlySet<string>>
}): (raw: RawRequest) => Promise<ClientFacts> {
  return async raw => ({
    url: address.repository(raw),
    signedPackages: settings.now().signing.rpm_packages,
    rsaKeys: (await keyring.rsaKeys()).map(key => key.key_name),
    privateTrees: await privateTrees(),
  })
}
