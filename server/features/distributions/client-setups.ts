import { clientSetups, type ClientFacts, type ClientSetup } from '../../core/client-setup.ts'
import { findDistribution } from '../../core/distributions.ts'
import { fail } from '../../core/errors.ts'
import type { Keyring } from '../../signing/signer.ts'

/** Everything a client needs, to copy. */
export interface ClientSetups {
  readonly codename: string
  readonly format: string
  readonly label: string
  readonly key_url: string
  /** Armoured; null while there is no key. */
  readonly public_key: string | null
  /** To compare by another channel. */
  readonly fingerprints: readonly string[]
  readonly clients: readonly ClientSetup[]
}

/** @throws distribution_not_found */
export async function setupsOf(keyring: Pick<Keyring, 'keys' | 'publicKey'>, codename: string, facts: ClientFacts): Promise<ClientSetups> {
  const distribution = findDistribution(codename) ?? fail('distribution_not_found', { codename })
  const keys = await keyring.keys()
  return {
    codename: distribution.codename, format: distribution.format, label: distribution.label, key_url: `${facts.url}/repos/gpg.key`,
    public_key: keys.length === 0 ? null : (await keyring.publicKey('armored')).toString(), fingerprints: keys.map(key => key.fingerprint),
    clients: clientSetups(distribution, facts),
  }
}
