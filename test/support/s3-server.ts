import { createHash, createHmac, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Kept {
  bytes: Buffer
  at: Date
}

/** What goes wrong with the next requests that fit. */
export interface Fault {
  readonly on: (request: { readonly method: string; readonly key: string; readonly query: URLSearchParams }) => boolean
  /** A status with this code in its XML; `drop`: the connection ends; `cut`: the body ends after so many bytes. */
  readonly how: { readonly status: number; readonly code: string } | 'drop' | { readonly cut: number }
  times: number
}

/** A bucket in memory, at 127.0.0.1: checks signatures and digests of bodies, and knows uploads in parts. */
export interface S3Server {
  readonly endpoint: string
  readonly bucket: string
  readonly keys: { readonly accessKey: string; readonly secretKey: string; readonly region: string }
  readonly objects: Map<string, Kept>
  /** Begun and neither completed nor given up. */
  readonly uploads: Map<string, { readonly key: string; at: Date; readonly parts: Map<number, Buffer> }>
  /** `PUT blobs/ab/…` of each request that was let in. */
  readonly seen: string[]
  /** Bytes of bodies that came in. */
  received: number
  faults: Fault[]
  now: () => Date
  close(): Promise<void>
}

const KEYS = { accessKey: 'TESTACCESSKEY', secretKey: 'test/secret+key', region: 'eu-test-1' }
const BUCKET = 'backups'
const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')
const hmac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const etagOf = (bytes: Buffer): string => `"${createHash('md5').update(bytes).digest('hex')}"`

class Refused extends Error {
  readonly status: number
  constructor(status: number, code: string) {
    super(code)
    this.status = status
  }
}

/** The signature as the receiving side makes it, from what arrived. */
function check(request: IncomingMessage, body: Buffer): void {
  const [path = '', query = ''] = (request.url ?? '').split('?')
  const said =
    /Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request,\s*SignedHeaders=([^,]+),\s*Signature=(\w+)/.exec(
      request.headers.authorization ?? '',
    )
  if (said === null) throw new Refused(403, 'AccessDenied')
  const [, who, day = '', region = '', names = '', signature] = said
  if (who !== KEYS.accessKey) throw new Refused(403, 'InvalidAccessKeyId')
  if (region !== KEYS.region) throw new Refused(400, 'AuthorizationHeaderMalformed')
  const payload = String(request.headers['x-amz-content-sha256'])
  if (payload !== sha256(body)) throw new Refused(400, 'XAmzContentSHA256Mismatch')
  const headers = names.split(';').map(name => `${name}:${String(request.headers[name]).trim()}\n`)
  const canonical = `${request.method}\n${path}\n${query}\n${headers.join('')}\n${names}\n${payload}`
  const time = String(request.headers['x-amz-date'])
  const text = `AWS4-HMAC-SHA256\n${time}\n${day}/${region}/s3/aws4_request\n${sha256(canonical)}`
  const key = hmac(hmac(hmac(hmac(`AWS4${KEYS.secretKey}`, day), region), 's3'), 'aws4_request')
  if (createHmac('sha256', key).update(text).digest('hex') !== signature)
    throw new Refused(403, 'SignatureDoesNotMatch')
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const xml = (response: ServerResponse, status: number, body: string): void =>
  void response.writeHead(status, { 'Content-Type': 'application/xml' }).end(`<?xml version="1.0"?>${body}`)

type Ask = { readonly method: string; readonly key: string; readonly query: URLSearchParams; readonly body: Buffer }
type State = Pick<S3Server, 'objects' | 'uploads' | 'now'>

/** Pages of three, so that a list has several. */
function list({ objects }: State, query: URLSearchParams): string {
  const prefix = query.get('prefix') ?? ''
  const after = query.get('continuation-token') ?? ''
  const left = [...objects.keys()].filter(key => key.startsWith(prefix) && key > after).sort()
  const page = left.slice(0, 3)
  const more = left.length > page.length
  return `<ListBucketResult><IsTruncated>${more}</IsTruncated>${
    more ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''
  }${page
    .map(key => {
      const { bytes, at } = objects.get(key) ?? { bytes: Buffer.alloc(0), at: new Date(0) }
      return `<Contents><Key>${encodeURIComponent(key)}</Key><LastModified>${at.toISOString()}</LastModified><Size>${bytes.length}</Size></Contents>`
    })
    .join('')}</ListBucketResult>`
}

function listUploads({ uploads }: State): string {
  return `<ListMultipartUploadsResult>${[...uploads]
    .map(
      ([id, { key, at }]) =>
        `<Upload><Key>${encodeURIComponent(key)}</Key><UploadId>${id}</UploadId><Initiated>${at.toISOString()}</Initiated></Upload>`,
    )
    .join('')}</ListMultipartUploadsResult>`
}

function inParts(state: State, { method, key, query, body }: Ask, response: ServerResponse): void {
  if (query.has('uploads')) {
    const id = randomBytes(8).toString('hex')
    state.uploads.set(id, { key, at: state.now(), parts: new Map() })
    return xml(
      response,
      200,
      `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
    )
  }
  const id = query.get('uploadId') ?? ''
  const upload = state.uploads.get(id)
  if (upload?.key !== key) throw new Refused(404, 'NoSuchUpload')
  if (method === 'DELETE') {
    state.uploads.delete(id)
    return void response.writeHead(204).end()
  }
  if (method === 'PUT') {
    upload.parts.set(Number(query.get('partNumber')), body)
    return void response.writeHead(200, { ETag: etagOf(body) }).end()
  }
  const named = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]*)<\/ETag>/g)]
  const parts = named.map(([, number, etag]) => {
    const part = upload.parts.get(Number(number))
    if (part === undefined || etagOf(part) !== etag) throw new Refused(400, 'InvalidPart')
    return part
  })
  if (parts.slice(0, -1).some(part => part.length < 5 * 2 ** 20)) throw new Refused(400, 'EntityTooSmall')
  state.objects.set(key, { bytes: Buffer.concat(parts), at: state.now() })
  state.uploads.delete(id)
  return xml(response, 200, '<CompleteMultipartUploadResult><ETag>"x-2"</ETag></CompleteMultipartUploadResult>')
}

function get({ objects }: State, { method, key }: Ask, request: IncomingMessage, response: ServerResponse): void {
  const kept = objects.get(key)
  if (kept === undefined) throw new Refused(404, 'NoSuchKey')
  const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
  const bytes = kept.bytes.subarray(from)
  response.writeHead(request.headers.range === undefined ? 200 : 206, {
    'ETag': etagOf(kept.bytes),
    'Content-Length': bytes.length,
  })
  response.end(method === 'HEAD' ? undefined : bytes)
}

function answer(state: State, ask: Ask, request: IncomingMessage, response: ServerResponse): void {
  const { method, key, query, body } = ask
  if (key === '' && method === 'HEAD') return void response.writeHead(200).end()
  if (key === '') return xml(response, 200, query.has('uploads') ? listUploads(state) : list(state, query))
  if (query.has('uploads') || query.has('uploadId')) return inParts(state, ask, response)
  if (method === 'GET' || method === 'HEAD') return get(state, ask, request, response)
  if (method === 'DELETE') {
    state.objects.delete(key)
    return void response.writeHead(204).end()
  }
  state.objects.set(key, { bytes: body, at: state.now() })
  response.writeHead(200, { ETag: etagOf(body) }).end()
}

/** Ends a body early: the head says more than comes. */
function cutShort(response: ServerResponse, after: number): void {
  const end = response.end.bind(response)
  response.end = ((bytes?: Buffer) => {
    if (!Buffer.isBuffer(bytes) || bytes.length <= after) return end(bytes)
    response.write(bytes.subarray(0, after), () => response.destroy())
    return response
  }) as typeof response.end
}

export async function startS3(): Promise<S3Server> {
  const server = createServer((request, response) => {
    void (async () => {
      const url = new URL(request.url ?? '', 'http://x')
      const [, bucket, ...rest] = url.pathname.split('/')
      const ask = {
        method: request.method ?? '',
        key: rest.map(decodeURIComponent).join('/'),
        query: url.searchParams,
        body: await bodyOf(request),
      }
      response.setHeader('Date', state.now().toUTCString())
      state.received += ask.body.length
      const fault = state.faults.find(one => one.times > 0 && one.on(ask))
      if (fault !== undefined) fault.times -= 1
      if (fault?.how === 'drop') return request.socket.destroy()
      if (fault !== undefined && typeof fault.how === 'object' && 'cut' in fault.how) cutShort(response, fault.how.cut)
      try {
        if (fault !== undefined && typeof fault.how === 'object' && 'status' in fault.how)
          throw new Refused(fault.how.status, fault.how.code)
        check(request, ask.body)
        if (bucket !== BUCKET) throw new Refused(404, 'NoSuchBucket')
        state.seen.push(`${ask.method} ${ask.key}`)
        answer(state, ask, request, response)
      } catch (error) {
        const { status, message } = error as Refused
        xml(response, status, `<Error><Code>${message}</Code></Error>`)
      }
      return undefined
    })()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const state: S3Server = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bucket: BUCKET,
    keys: KEYS,
    objects: new Map(),
    uploads: new Map(),
    seen: [],
    received: 0,
    faults: [],
    now: () => new Date(),
    close: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  return state
}
