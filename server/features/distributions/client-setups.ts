import { createHash, createPublicKey } from 'node:crypto'
import { TOKEN_PLACE, type ClientFacts, type ClientSetup } from '../../core/client-setup.ts'
import type { FormatId } from '../../core/identity.ts'
import type { SeenRepositories } from '../../core/repository.ts'
import type { Format } from '../../formats/format.ts'
import { clientOf } from '../../formats/index.ts'
import type { ClientSide } from '../../formats/site.ts'
import type { Keyring } from '../../signing/signer.ts'

/** Everything a client needs, to copy. */
export interface ClientSetups {
  readonly codename: string
  readonly format: string
  readonly label: string
  /** Null while the name of the key is not known. */
  readonly key_url: string | null
  /** Armoured or PEM; null while there is no key of the kind that its clients use. */
  readonly public_key: string | null
  /** To compare by another channel: of OpenPGP keys theirs, of an RSA key the SHA-256 of its DER form. */
  readonly fingerprints: readonly string[]
  /** What stands in the lines where a token belongs; null where the tree asks for none. */
  readonly token_place: string | null
  readonly clients: readonly ClientSetup[]
}

type Key = Pick<ClientSetups, 'key_url' | 'public_key' | 'fingerprints'>

const fingerprintOf = (pem: string): string =>
  createHash('sha256')
    .update(createPublicKey(pem).export({ type: 'spki', format: 'der' }))
    .digest('hex')

async function keyOf(
  keyring: Pick<Keyring, 'keys' | 'rsaKeys' | 'publicKey'>,
  kind: ClientSide['indexKey'],
  url: string,
): Promise<Key> {
  if (kind === 'rsa') {
    const [key] = await keyring.rsaKeys()
    return {
      key_url: key === undefined ? null : `${url}/apk/${key.key_name}`,
      public_key: key?.public_key ?? null,
      fingerprints: key === undefined ? [] : [fingerprintOf(key.public_key)],
    }
  }
  const keys = await keyring.keys()
  const armored = keys.length === 0 ? null : (await keyring.publicKey('armored')).toString()
  return { key_url: `${url}/repos/gpg.key`, public_key: armored, fingerprints: keys.map(key => key.fingerprint) }
}

/** @throws distribution_not_found */
export async function setupsOf(
  {
    keyring,
    repositories,
    formats,
  }: {
    readonly keyring: Pick<Keyring, 'keys' | 'rsaKeys' | 'publicKey'>
    readonly repositories: Pick<SeenRepositories, 'need'>
    readonly formats: (id: FormatId) => Pick<Format, 'id' | 'client'>
  },
  codename: string,
  facts: ClientFacts,
): Promise<ClientSetups> {
  const distribution = repositories.need(codename)
  const { format, label } = distribution
  const client = clientOf(formats(format))
  return {
    codename: distribution.codename,
    format,
    label,
    token_place: facts.privateTrees?.has(codename) === true ? TOKEN_PLACE : null,
    ...(await keyOf(keyring, client.indexKey, facts.url)),
    clients: client.setups(distribution, facts),
  }
}
