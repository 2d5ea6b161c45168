import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { described, sha256, type BuiltImage } from './oci-images.ts'

const IMAGE = 'application/vnd.oci.image.manifest.v1+json'
const CONFIG = 'application/vnd.oci.image.config.v1+json'
export const SIMPLE_SIGNING = 'application/vnd.dev.cosign.simplesigning.v1+json'
export const DSSE = 'application/vnd.dsse.envelope.v1+json'
export const IN_TOTO = 'application/vnd.in-toto+json'
export const BUNDLE = 'application/vnd.dev.sigstore.bundle.v0.3+json'
const SIGN_PREDICATE = 'https://sigstore.dev/cosign/sign/v1'

/** A key pair that signs as cosign does with it. */
export interface Signer {
  /** As `cosign.pub` has it. */
  readonly pem: string
  readonly fingerprint: string
  sign(bytes: Uint8Array): Buffer
}

function signerOf(publicKey: KeyObject, make: (bytes: Uint8Array) => Buffer): Signer {
  const der = publicKey.export({ type: 'spki', format: 'der' })
  return {
    pem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    fingerprint: createHash('sha256').update(der).digest('hex'),
    sign: make,
  }
}

/** @param hash  null for Ed25519 */
export function createSigner(
  kind: 'p256' | 'p384' | 'ed25519' | 'rsa' = 'p256',
  hash: string | null = 'sha256',
): Signer {
  if (kind === 'ed25519') {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    return signerOf(publicKey, bytes => sign(null, bytes, privateKey))
  }
  const { publicKey, privateKey } =
    kind === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: kind === 'p256' ? 'P-256' : 'P-384' })
  return signerOf(publicKey, bytes => sign(hash, bytes, privateKey))
}

/** The payload of a signature. */
export const payloadFor = (digest: string): Buffer =>
  Buffer.from(
    JSON.stringify({
      critical: {
        identity: { 'docker-reference': 'house.example/app' },
        image: { 'docker-manifest-digest': digest },
        type: 'cosign container image signature',
      },
      optional: null,
    }),
  )

/** What a DSSE signature is over. Source: DSSE 1.0, "Protocol". */
export const pae = (type: string, payload: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `), payload])

export const statementOf = (digest: string, predicateType: string): Buffer =>
  Buffer.from(
    JSON.stringify({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: 'house.example/app', digest: { sha256: digest.slice('sha256:'.length) } }],
      predicateType,
      predicate: {},
    }),
  )

/** A DSSE envelope with a statement about an image. */
export function envelopeOf(signer: Signer, digest: string, predicateType = SIGN_PREDICATE): Record<string, unknown> {
  const payload = statementOf(digest, predicateType)
  return {
    payload: payload.toString('base64'),
    payloadType: IN_TOTO,
    signatures: [{ sig: signer.sign(pae(IN_TOTO, payload)).toString('base64') }],
  }
}

/** A sigstore bundle whose key is only hinted at. */
export const bundleOf = (content: Record<string, unknown>, material: Record<string, unknown> = {}): Buffer =>
  Buffer.from(
    JSON.stringify({
      mediaType: BUNDLE,
      verificationMaterial: { publicKey: { hint: 'aGludA==' }, tlogEntries: [], ...material },
      ...content,
    }),
  )

/** The part of a bundle that signs the manifest itself. */
export const messageOf = (signer: Signer, manifest: Buffer): Record<string, unknown> => ({
  messageSignature: {
    messageDigest: { algorithm: 'SHA2_256', digest: createHash('sha256').update(manifest).digest('base64') },
    signature: signer.sign(manifest).toString('base64'),
  },
})

export interface BesideSpec {
  readonly mediaType: string
  readonly bytes: Buffer
  readonly annotations?: Readonly<Record<string, string>>
}

/** A manifest that holds signatures, as cosign pushes it: under a tag, or about its subject. */
export function besideImage(files: readonly BesideSpec[], subject?: BuiltImage): BuiltImage {
  const config = Buffer.from(
    JSON.stringify({ architecture: '', os: '', rootfs: { type: 'layers', diff_ids: [] }, config: {} }),
  )
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: IMAGE,
      ...(subject === undefined ? {} : { artifactType: files[0]?.mediaType }),
      config: described(subject === undefined ? CONFIG : 'application/vnd.oci.empty.v1+json', config),
      layers: files.map(({ mediaType, bytes, annotations = {} }) => ({ ...described(mediaType, bytes), annotations })),
      ...(subject === undefined
        ? {}
        : { subject: { mediaType: subject.mediaType, digest: subject.digest, size: subject.manifest.length } }),
    }),
  )
  return { manifest, digest: sha256(manifest), mediaType: IMAGE, config, layers: files.map(({ bytes }) => bytes) }
}

/** The tag under which cosign keeps signatures of an image. */
export const signatureTag = ({ digest }: Pick<BuiltImage, 'digest'>, kind = 'sig'): string =>
  `${digest.replace(':', '-')}.${kind}`

/** A signature as `cosign sign --key` pushes it, under `signatureTag`. */
export function signatureBy(
  signer: Signer,
  { digest }: Pick<BuiltImage, 'digest'>,
  annotations: Readonly<Record<string, string>> = {},
): BuiltImage {
  const bytes = payloadFor(digest)
  const signature = signer.sign(bytes).toString('base64')
  return besideImage([
    {
      mediaType: SIMPLE_SIGNING,
      bytes,
      annotations: { 'dev.cosignproject.cosign/signature': signature, ...annotations },
    },
  ])
}
