import { clientSetups, indexKeyOf, type ClientFacts, type ClientSetup } from '../../core/client-setup.ts'
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
export async function setupsOf(keyring: Pick<Keyring, 'keys' | 'rsaKeys' | 'publicKey'>, codename: string, facts: ClientFacts): Promise<ClientSetups> {
  const distribution = findDistribution(codename) ?? fail('distribution_not_found', { codename })
  const keys = await keyring.keys()
  const rsaKey = indexKeyOf(distribution) === 'rsa' ? (await keyring.rsaKeys())[0] : undefined
  const armored = async (): Promise<string | null> => keys.length === 0 ? null : (await keyring.publicKey('armored')).toString()
  return {
    codename: distribution.codename, format: distribution.format, label: distribution.label, key_url: `${facts.url}${rsaKey === undefined ? '/repos/gpg.key' : `/apk/${rsaKey.key_name}`}`,
    public_key: rsaKey?.public_key ?? await armored(), fingerprints: rsaKey === undefined ? keys.map(key => key.fingerprint) : [],
    clients: clientSetups(distribution, facts),
  }
}
