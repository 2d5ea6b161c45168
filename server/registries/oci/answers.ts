import type { ManifestHead, Repository } from '../../catalog/queries/oci.ts'
import { asciiLine } from '../held.ts'
import type { RegistryAnswer, RegistryRequest, Refusal } from '../protocol.ts'

/** Source: distribution specification 1.1, "Error Codes". */
export type OciCode =
  | 'BLOB_UNKNOWN'
  | 'BLOB_UPLOAD_INVALID'
  | 'BLOB_UPLOAD_UNKNOWN'
  | 'DIGEST_INVALID'
  | 'MANIFEST_BLOB_UNKNOWN'
  | 'MANIFEST_INVALID'
  | 'MANIFEST_UNKNOWN'
  | 'NAME_INVALID'
  | 'NAME_UNKNOWN'
  | 'SIZE_INVALID'
  | 'UNAUTHORIZED'
  | 'DENIED'
  | 'UNSUPPORTED'
  | 'TOOMANYREQUESTS'

/** A refusal in the protocol's own words; anything inside may throw it. */
export class OciRefusal extends Error {
  readonly status: number
  readonly code: OciCode
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, code: OciCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.name = 'OciRefusal'
    this.status = status
    this.code = code
    this.headers = headers
  }
}

/** @throws OciRefusal, always */
export function refuseAs(
  status: number,
  code: OciCode,
  message: string,
  headers?: Readonly<Record<string, string>>,
): never {
  throw new OciRefusal(status, code, message, headers)
}

/** What clients know a registry by. */
export const VERSION = { 'Docker-Distribution-Api-Version': 'registry/2.0' }

/** An error as clients read it: `message` reaches the person. */
export function errorAnswer(
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): RegistryAnswer {
  return {
    status,
    reason: message,
    headers: { ...VERSION, 'Cache-Control': 'no-store', ...headers },
    body: { kind: 'json', json: { errors: [{ code, message }] } },
  }
}

/** @throws OciRefusal NAME_UNKNOWN, always */
export const refuseName = ({ codename, name }: Repository): never =>
  refuseAs(404, 'NAME_UNKNOWN', `The registry ${codename} has nothing with the name ${name}.`)

const CODE_OF_STATUS: Readonly<Record<number, OciCode>> = {
  400: 'MANIFEST_INVALID',
  401: 'UNAUTHORIZED',
  403: 'DENIED',
  404: 'NAME_UNKNOWN',
  405: 'UNSUPPORTED',
  413: 'SIZE_INVALID',
  422: 'MANIFEST_INVALID',
  429: 'TOOMANYREQUESTS',
}

/** A refusal of the service in the words of the protocol. */
export function refusalAnswer({ status, detail }: Refusal): RegistryAnswer {
  // clients know 400 for what is wrong with a push; some take 422 for a fault that passes
  const code = CODE_OF_STATUS[status] ?? (status === 409 ? 'DENIED' : 'UNKNOWN')
  return errorAnswer(status === 422 ? 400 : status, code, detail)
}

/** An answer without a body. */
export const plain = (status: number, headers: Readonly<Record<string, string>> = {}): RegistryAnswer => ({
  status,
  headers: { ...VERSION, ...headers },
})

/** Where a thing below the registry lies, as a path: any address that a client came by leads there. */
export function placeOf({ address }: Pick<RegistryRequest, 'address'>, ...rest: readonly string[]): string {
  return [new URL(address).pathname.replace(/\/$/, ''), ...rest].join('/')
}

/** A text that fits between the quotes of a header, whole: what ends it may be a link. Source: RFC 9110, 5.6.4. */
export const headerText = (text: string): string => asciiLine(text).replace(/["\\]/g, "'")

/** A manifest as clients get it. @param asked  the digest that it was asked for by; undefined: by a tag, which moves */
export function manifestAnswer(
  { version, mediaType, sha256, size }: ManifestHead,
  asked: string | undefined,
): RegistryAnswer {
  const digest = asked ?? version
  return {
    status: 200,
    type: mediaType,
    headers: {
      ...VERSION,
      'Docker-Content-Digest': digest,
      'ETag': `"${digest}"`,
      'Cache-Control': asked === undefined ? 'no-cache' : 'private, max-age=31536000, immutable',
    },
    body: { kind: 'blob', sha256, size },
    conditional: true,
  }
}
