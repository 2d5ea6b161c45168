import { createHash, createHmac } from 'node:crypto'

export interface S3Keys {
  readonly accessKey: string
  readonly secretKey: string
  readonly region: string
}

export interface Unsigned {
  readonly method: string
  /** Encoded as it is sent. */
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** All that are signed, `host` among them; names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Of the body, in hex. */
  readonly payloadSha256: string
}

/** RFC 3986: everything but letters, digits and `-._~`. */
export const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, char => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)

/** A query as it is signed and sent: sorted by name. */
export const queryOf = (query: Readonly<Record<string, string>>): string =>
  Object.keys(query)
    .sort()
    .map(name => `${encode(name)}=${encode(query[name] ?? '')}`)
    .join('&')

const hmac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/**
 * The headers that a signed request has beside its own. Source: AWS, "Authenticating Requests: Using the Authorization
 * Header (AWS Signature Version 4)"; its examples are tests.
 */
export function sign(
  { method, path, query, headers, payloadSha256 }: Unsigned,
  { accessKey, secretKey, region }: S3Keys,
  at: Date,
): Record<string, string> {
  const time = at.toISOString().replace(/[-:]|\.\d+/g, '')
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`
  const all: Record<string, string> = { ...headers, 'x-amz-content-sha256': payloadSha256, 'x-amz-date': time }
  const names = Object.keys(all).sort()
  const canonical = [
    method,
    path,
    queryOf(query),
    ...names.map(name => `${name}:${(all[name] ?? '').trim()}`),
    '',
    names.join(';'),
    payloadSha256,
  ].join('\n')
  const text = ['AWS4-HMAC-SHA256', time, scope, createHash('sha256').update(canonical).digest('hex')].join('\n')
  const key = scope.split('/').reduce<Buffer | string>(hmac, `AWS4${secretKey}`)
  const signature = createHmac('sha256', key).update(text).digest('hex')
  return {
    'x-amz-content-sha256': payloadSha256,
    'x-amz-date': time,
    'authorization': `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope},SignedHeaders=${names.join(';')},Signature=${signature}`,
  }
}
