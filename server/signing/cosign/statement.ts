import { BUNDLE, IN_TOTO, SIMPLE_SIGNING } from '../../core/signature-types.ts'
import { malformed } from '../../lib/limited.ts'
import { fieldOf, parseStrictJson } from '../../lib/strict-json.ts'

/** The most bytes of a payload. */
export const MAX_PAYLOAD = 2 ** 20

const SIGNATURE_NOTE = 'dev.cosignproject.cosign/signature'
const CERTIFICATE_NOTE = 'dev.sigstore.cosign/certificate'
/** Of `critical.type`; the second one stands in what releases from 2025 on write. */
const SIGN_PREDICATE = 'https://sigstore.dev/cosign/sign/v1'
const SIGNATURE_TYPES: readonly unknown[] = ['cosign container image signature', SIGN_PREDICATE]
const STATEMENT_TYPES: readonly unknown[] = ['https://in-toto.io/Statement/v0.1', 'https://in-toto.io/Statement/v1']
const MOST_SUBJECTS = 1024

/** Something that somebody signed, before any key was asked. */
export interface Statement {
  /** An attestation says something of an image, and does not vouch for it. */
  readonly kind: 'signature' | 'attestation'
  /** What an attestation says: `https://slsa.dev/provenance/v1`. */
  readonly predicate?: string
  /** Whether it is about this image. */
  readonly isAbout: boolean
  /** The bytes that were signed, with each signature of them. */
  readonly signed: Uint8Array
  readonly signatures: readonly Buffer[]
  /** It came with a certificate in the place of a key. */
  readonly hasCertificate: boolean
}

/** What holds signatures, and what they have to be about. */
export interface Held {
  readonly mediaType: string
  readonly annotations: Readonly<Record<string, string>>
  readonly bytes: Buffer
  /** The image: its digest, `sha256:…`, and the bytes of its manifest. */
  readonly image: { readonly digest: string; readonly manifest: Buffer }
}

/** Standard or URL-safe. @throws Malformed */
function readBase64(value: unknown, what: string): Buffer {
  const text = typeof value === 'string' ? value.trim() : ''
  if (!/^(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+)={0,2}$/.test(text)) malformed(`${what} is no base64`)
  return Buffer.from(text, 'base64')
}

/**
 * What a DSSE signature is over: `DSSEv1 29 http://example.com/HelloWorld 11 hello world`.
 * Source: DSSE 1.0, "Protocol", PAE.
 */
export function preAuthEncoding(type: string, payload: Uint8Array): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `
  return Buffer.concat([Buffer.from(head), payload])
}

function readSimpleSigning({ bytes, annotations, image }: Held): Statement {
  const critical = fieldOf(parseStrictJson(bytes), 'critical')
  if (!SIGNATURE_TYPES.includes(fieldOf(critical, 'type'))) malformed('its critical.type is not that of cosign')
  const digest = fieldOf(fieldOf(critical, 'image'), 'docker-manifest-digest')
  return {
    kind: 'signature',
    isAbout: digest === image.digest,
    signed: bytes,
    signatures: [readBase64(annotations[SIGNATURE_NOTE], 'its signature')],
    hasCertificate: (annotations[CERTIFICATE_NOTE] ?? '') !== '',
  }
}

/** A statement that any digest of a list of subjects is about. Source: in-toto attestation 1.0, "Statement". */
function readInToto(payload: Buffer, digest: string): Pick<Statement, 'kind' | 'isAbout' | 'predicate'> {
  const statement = parseStrictJson(payload)
  if (!STATEMENT_TYPES.includes(fieldOf(statement, '_type'))) malformed('its payload is no in-toto statement')
  const [subjects, predicate] = [fieldOf(statement, 'subject'), fieldOf(statement, 'predicateType')]
  if (!Array.isArray(subjects) || subjects.length > MOST_SUBJECTS) malformed('it has no list of subjects')
  if (typeof predicate !== 'string') malformed('it has no predicateType')
  const isAbout = subjects.some(one => `sha256:${String(fieldOf(fieldOf(one, 'digest'), 'sha256'))}` === digest)
  return predicate === SIGN_PREDICATE ? { kind: 'signature', isAbout } : { kind: 'attestation', isAbout, predicate }
}

/** @throws Malformed */
function readEnvelope(envelope: unknown, digest: string, hasCertificate: boolean): Statement {
  const [type, signatures] = [fieldOf(envelope, 'payloadType'), fieldOf(envelope, 'signatures')]
  if (type !== IN_TOTO) malformed(`its payloadType is not ${IN_TOTO}`)
  if (!Array.isArray(signatures) || signatures.length === 0 || signatures.length > 10)
    malformed('it has no list of 1 to 10 signatures')
  const payload = readBase64(fieldOf(envelope, 'payload'), 'its payload')
  return {
    ...readInToto(payload, digest),
    signed: preAuthEncoding(IN_TOTO, payload),
    signatures: signatures.map(one => readBase64(fieldOf(one, 'sig'), 'a signature of it')),
    hasCertificate,
  }
}

/** A signature over the manifest itself. */
function readMessage(message: unknown, image: Held['image']): Statement {
  const said = fieldOf(message, 'messageDigest')
  const algorithm = fieldOf(said, 'algorithm')
  if (algorithm !== 'SHA2_256') malformed('the digest of its message is not SHA2_256')
  const digest = readBase64(fieldOf(said, 'digest'), 'the digest of its message').toString('hex')
  return {
    kind: 'signature',
    isAbout: `sha256:${digest}` === image.digest,
    signed: image.manifest,
    signatures: [readBase64(fieldOf(message, 'signature'), 'its signature')],
    hasCertificate: false,
  }
}

/** Source: sigstore, "Sigstore Bundle Format", v0.3. */
function readBundle({ bytes, image }: Held): Statement {
  const bundle = parseStrictJson(bytes)
  if (fieldOf(bundle, 'mediaType') !== BUNDLE) malformed(`its mediaType is not ${BUNDLE}`)
  const material = fieldOf(bundle, 'verificationMaterial')
  const hasCertificate =
    fieldOf(material, 'certificate') !== undefined || fieldOf(material, 'x509CertificateChain') !== undefined
  if (!hasCertificate && fieldOf(material, 'publicKey') === undefined) malformed('it names neither key nor certificate')
  const [envelope, message] = [fieldOf(bundle, 'dsseEnvelope'), fieldOf(bundle, 'messageSignature')]
  if ((envelope === undefined) === (message === undefined)) malformed('it has not exactly one of two kinds of content')
  return envelope === undefined
    ? { ...readMessage(message, image), hasCertificate }
    : readEnvelope(envelope, image.digest, hasCertificate)
}

/**
 * What a file says that holds signatures.
 * @returns undefined where it holds none: a statement that nobody signed, as builders put beside images
 * @throws Malformed
 */
export function readStatement(held: Held): Statement | undefined {
  const { mediaType, bytes, annotations, image } = held
  if (bytes.length > MAX_PAYLOAD) malformed('it is larger than 1 MiB')
  if (mediaType === SIMPLE_SIGNING) return readSimpleSigning(held)
  if (mediaType === BUNDLE) return readBundle(held)
  const envelope = parseStrictJson(bytes)
  if (mediaType === IN_TOTO && fieldOf(envelope, 'payload') === undefined) return undefined
  return readEnvelope(envelope, image.digest, (annotations[CERTIFICATE_NOTE] ?? '') !== '')
}
