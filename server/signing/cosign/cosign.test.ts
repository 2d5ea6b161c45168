import { constants, generateKeyPairSync, sign } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  BUNDLE,
  bundleOf,
  createSigner,
  DSSE,
  envelopeOf,
  IN_TOTO,
  messageOf,
  payloadFor,
  SIMPLE_SIGNING,
  statementOf,
  type Signer,
} from '../../../test/support/cosign.ts'
import { isSignedBy, readPemKey } from './pem-key.ts'
import { preAuthEncoding, readStatement, type Statement } from './statement.ts'

const manifest = Buffer.from('{"schemaVersion":2}')
const digest = 'sha256:e8f1ac4ad83efcb3df7a1ba43e1c2e5da3b8f7cb6a0dbd7c10fc69b7a5f7df6e'
const image = { digest, manifest }
const other = `sha256:${'0'.repeat(64)}`

const simple = (bytes: Buffer, signature: Buffer | string, more: Record<string, string> = {}): Statement | undefined =>
  readStatement({
    ...{ mediaType: SIMPLE_SIGNING, bytes, image },
    annotations: {
      'dev.cosignproject.cosign/signature': typeof signature === 'string' ? signature : signature.toString('base64'),
      ...more,
    },
  })
const read = (mediaType: string, value: unknown): Statement | undefined =>
  readStatement({
    ...{ mediaType, image, annotations: {} },
    bytes: Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value)),
  })
/** Whether a key vouches for the image by it. */
const vouches = (statement: Statement | undefined, signer: Signer): boolean =>
  statement?.kind === 'signature' &&
  statement.isAbout &&
  statement.signatures.some(one => isSignedBy(readPemKey(signer.pem), statement.signed, one))

test.each([
  ['ECDSA P-256', createSigner('p256')],
  ['ECDSA P-384', createSigner('p384')],
  ['ECDSA P-384', createSigner('p384', 'sha384')],
  ['Ed25519', createSigner('ed25519')],
  ['RSA 2048', createSigner('rsa')],
])('a signature by %s is good for its own key alone', (algorithm, signer) => {
  const bytes = payloadFor(digest)
  const made = simple(bytes, signer.sign(bytes))
  expect(readPemKey(signer.pem)).toMatchObject({ algorithm, fingerprint: signer.fingerprint, pem: signer.pem })
  expect(vouches(made, signer)).toBe(true)
  for (const kind of ['p256', 'p384', 'ed25519', 'rsa'] as const) expect(vouches(made, createSigner(kind))).toBe(false)
})

test('a payload that is about another image, or that was changed, vouches for nothing', () => {
  const signer = createSigner()
  const bytes = payloadFor(other)
  expect(simple(bytes, signer.sign(bytes))?.isAbout).toBe(false)
  expect(vouches(simple(payloadFor(digest), signer.sign(bytes)), signer)).toBe(false)
})

test('the field of the digest is read as cosign does, in any case, but not twice', () => {
  const signer = createSigner()
  const spelled = Buffer.from(payloadFor(digest).toString().replace('docker-manifest', 'Docker-manifest'))
  expect(vouches(simple(spelled, signer.sign(spelled)), signer)).toBe(true)
  for (const name of ['docker-manifest-digest', 'Docker-Manifest-Digest']) {
    const twice = Buffer.from(payloadFor(digest).toString().replace('"image":{', `"image":{"${name}":"${other}",`))
    expect(() => simple(twice, signer.sign(twice)), name).toThrow(/twice|two spellings/)
  }
})

test.each([
  ['SHA-1', (bytes: Buffer, key: Parameters<typeof sign>[2]) => sign('sha1', bytes, key)],
  ['SHA-512', (bytes: Buffer, key: Parameters<typeof sign>[2]) => sign('sha512', bytes, key)],
])('a signature with %s in the place of SHA-256 is none', (_, make) => {
  for (const pair of [
    generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ]) {
    const bytes = payloadFor(digest)
    const key = readPemKey(pair.publicKey.export({ type: 'spki', format: 'pem' }).toString())
    expect(isSignedBy(key, bytes, sign('sha256', bytes, pair.privateKey))).toBe(true)
    expect(isSignedBy(key, bytes, make(bytes, pair.privateKey))).toBe(false)
  }
})

test('RSA with another padding, ECDSA in another encoding, and no signature at all are none', () => {
  const bytes = payloadFor(digest)
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const keyOf = (pair: typeof rsa) => readPemKey(pair.publicKey.export({ type: 'spki', format: 'pem' }).toString())
  const pss = sign('sha256', bytes, { key: rsa.privateKey, padding: constants.RSA_PKCS1_PSS_PADDING })
  const raw = sign('sha256', bytes, { key: ec.privateKey, dsaEncoding: 'ieee-p1363' })
  expect([isSignedBy(keyOf(rsa), bytes, pss), isSignedBy(keyOf(ec), bytes, raw)]).toEqual([false, false])
  expect(isSignedBy(keyOf(ec), bytes, Buffer.alloc(0))).toBe(false)
})

test('the pre-authentication encoding is that of the specification', () => {
  expect(preAuthEncoding('http://example.com/HelloWorld', Buffer.from('hello world')).toString()).toBe(
    'DSSEv1 29 http://example.com/HelloWorld 11 hello world',
  )
})

test('an envelope about the image vouches for it, an attestation only says something', () => {
  const signer = createSigner()
  expect(vouches(read(DSSE, envelopeOf(signer, digest)), signer)).toBe(true)
  expect(vouches(read(DSSE, envelopeOf(signer, other)), signer)).toBe(false)
  expect(vouches(read(DSSE, envelopeOf(createSigner(), digest)), signer)).toBe(false)
  const attested = read(DSSE, envelopeOf(signer, digest, 'https://slsa.dev/provenance/v1'))
  expect(attested).toMatchObject({ kind: 'attestation', predicate: 'https://slsa.dev/provenance/v1', isAbout: true })
  expect(vouches(attested, signer)).toBe(false)
})

test('an envelope whose payload is signed without its type is signed by nobody', () => {
  const signer = createSigner()
  const payload = statementOf(digest, 'https://sigstore.dev/cosign/sign/v1')
  const signatures = [{ sig: signer.sign(payload).toString('base64') }]
  expect(vouches(read(DSSE, { payload: payload.toString('base64'), payloadType: IN_TOTO, signatures }), signer)).toBe(
    false,
  )
})

test('what a builder says of an image without a signature is no signature, and no error', () => {
  expect(read(IN_TOTO, statementOf(digest, 'https://slsa.dev/provenance/v1'))).toBeUndefined()
})

test('a bundle vouches by its envelope or over the manifest itself', () => {
  const signer = createSigner()
  expect(vouches(read(BUNDLE, bundleOf({ dsseEnvelope: envelopeOf(signer, digest) })), signer)).toBe(true)
  const own = { digest: 'sha256:', manifest }
  own.digest = `sha256:${Buffer.from((messageOf(signer, manifest).messageSignature as { messageDigest: { digest: string } }).messageDigest.digest, 'base64').toString('hex')}`
  const bytes = bundleOf(messageOf(signer, manifest))
  const made = readStatement({ mediaType: BUNDLE, annotations: {}, bytes, image: own })
  expect(vouches(made, signer)).toBe(true)
  // the bytes of another manifest
  const foreign = readStatement({
    mediaType: BUNDLE,
    annotations: {},
    bytes,
    image: { ...own, manifest: Buffer.from('{}') },
  })
  expect(vouches(foreign, signer)).toBe(false)
  expect(read(BUNDLE, bytes)?.isAbout).toBe(false)
})

test('a certificate in the place of a key is told', () => {
  const signer = createSigner()
  const bytes = payloadFor(digest)
  expect(simple(bytes, signer.sign(bytes), { 'dev.sigstore.cosign/certificate': '-----BEGIN' })?.hasCertificate).toBe(
    true,
  )
  const certified = bundleOf(
    { dsseEnvelope: envelopeOf(signer, digest) },
    { publicKey: undefined, certificate: { rawBytes: '' } },
  )
  expect(read(BUNDLE, certified)?.hasCertificate).toBe(true)
})

test.each<[string, string, unknown]>([
  ['larger than 1 MiB', SIMPLE_SIGNING, Buffer.alloc(2 ** 20 + 1, 0x20)],
  ['no JSON', SIMPLE_SIGNING, Buffer.from('{"critical"')],
  ['critical.type', SIMPLE_SIGNING, { critical: { type: 'atomic container signature' } }],
  ['payloadType', DSSE, { payload: '', payloadType: 'text/plain', signatures: [{ sig: 'AA==' }] }],
  ['1 to 10 signatures', DSSE, { payload: 'AA==', payloadType: IN_TOTO, signatures: [] }],
  ['no base64', DSSE, { payload: '%', payloadType: IN_TOTO, signatures: [{ sig: 'AA==' }] }],
  ['in-toto statement', DSSE, { payload: 'e30=', payloadType: IN_TOTO, signatures: [{ sig: 'AA==' }] }],
  ['mediaType', BUNDLE, { mediaType: 'application/vnd.dev.sigstore.bundle+json;version=0.1' }],
  ['neither key', BUNDLE, { mediaType: BUNDLE, verificationMaterial: {} }],
  ['two kinds', BUNDLE, { mediaType: BUNDLE, verificationMaterial: { publicKey: {} } }],
  [
    'SHA2_256',
    BUNDLE,
    {
      mediaType: BUNDLE,
      verificationMaterial: { publicKey: {} },
      messageSignature: { messageDigest: { algorithm: 'MD5' } },
    },
  ],
])('what breaks a rule is refused: %s', (why, mediaType, value) => {
  expect(() => read(mediaType, value)).toThrow(why)
})

test('an annotation that holds no signature is refused', () => {
  for (const signature of ['', '%%%', 'AA==\nAA=='])
    expect(() => simple(payloadFor(digest), signature)).toThrow('base64')
})

test.each([
  ['no whole PEM block', createSigner().pem.slice(0, -40)],
  ['no public key', createSigner().pem.replace(/\n.{20}/, '\n')],
  ['2 PEM blocks', createSigner().pem + createSigner().pem],
  ['PRIVATE KEY', generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()],
  [
    'RSA of 1024 bits',
    generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  ],
  ['none of', generateKeyPairSync('x25519').publicKey.export({ type: 'spki', format: 'pem' }).toString()],
  [
    'none of',
    generateKeyPairSync('ec', { namedCurve: 'P-521' }).publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  ],
  ['no whole PEM block', ''],
])('a key is refused with the reason: %s', (why, text) => {
  expect(() => readPemKey(text)).toThrow(why)
})
