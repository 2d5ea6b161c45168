import type { IncomingMessage } from 'node:http'
import { createS3Client, element, textOf, type S3Client, type S3ClientDeps, type S3Place } from './s3-client.ts'
import { TargetTrouble, type Kept, type TargetStore } from './target-store.ts'

/** Parts of large files: 10,000 of them are 78 GiB. S3 takes none below 5 MiB, but the last. */
const PART = 8 * 2 ** 20
/** Room for a file before it is known to be large. */
const SMALL = 128 * 1024
/** How often a body that breaks off is asked for again without a byte in between. */
const RESUMES = 4

const drained = (answer: IncomingMessage): void => void answer.resume()

interface Part {
  /** Used up before the next part is asked for. */
  readonly bytes: Buffer
  readonly isLast: boolean
}

/** Cuts a body into parts: all but the last are of one size, and a file that is smaller is one part. */
async function* partsOf(body: AsyncIterable<Buffer>): AsyncGenerator<Part> {
  let part = Buffer.allocUnsafe(SMALL)
  let size = 0
  for await (const piece of body)
    for (let at = 0; at < piece.length;) {
      // a full part goes out when more follows: only then it is not the last
      if (size === PART) {
        yield { bytes: part, isLast: false }
        size = 0
      }
      if (size === part.length) {
        const larger = Buffer.allocUnsafe(Math.min(PART, part.length * 4))
        part.copy(larger, 0, 0, size)
        part = larger
      }
      const copied = piece.copy(part, size, at)
      size += copied
      at += copied
    }
  yield { bytes: part.subarray(0, size), isLast: true }
}

/** Each element of that name with all that is in it. */
const blocks = (xml: string, name: string): string[] => xml.split(`<${name}>`).slice(1)

/** Keys are asked for as in a URL, since XML cannot hold every one. */
const keyOf = (block: string): string => decodeURIComponent((element(block, 'Key') ?? '').replaceAll('+', ' '))

interface Uploaded {
  readonly number: number
  readonly etag: string
}

const completion = (parts: readonly Uploaded[]): Buffer =>
  Buffer.from(
    `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts
      .map(({ number, etag }) => `<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag></Part>`)
      .join('')}</CompleteMultipartUpload>`,
  )

/** Uploads one file in parts, there when all of them are. */
async function putInParts(
  client: S3Client,
  key: string,
  parts: AsyncIterator<Part>,
  { first, signal }: { readonly first: Buffer; readonly signal: AbortSignal },
): Promise<void> {
  const begun = await textOf(await client.send({ method: 'POST', key, query: { uploads: '' }, signal }))
  const uploadId = element(begun, 'UploadId')
  if (uploadId === undefined) throw new TargetTrouble(`${client.address} begins no upload in parts.`)
  try {
    const uploaded: Uploaded[] = []
    for (let bytes: Buffer | undefined = first; bytes !== undefined;) {
      const number = uploaded.length + 1
      const query = { partNumber: String(number), uploadId }
      const answer = await client.send({ method: 'PUT', key, query, body: bytes, signal })
      drained(answer)
      if (answer.statusCode === 404) throw new TargetTrouble(`${client.address} has forgotten an upload under way.`)
      uploaded.push({ number, etag: answer.headers.etag ?? '' })
      const next: IteratorResult<Part> = await parts.next()
      bytes = next.done === true ? undefined : next.value.bytes
    }
    const body = completion(uploaded)
    const answer = await client.send({ method: 'POST', key, query: { uploadId }, body, signal })
    const said = await textOf(answer)
    // S3 may answer 200 and then tell of an error; and a completion that was repeated finds no upload any more
    if (element(said, 'ETag') === undefined && !(answer.statusCode === 404 && (await isThere(client, key, signal))))
      throw new TargetTrouble(`${client.address} did not complete an upload: ${element(said, 'Code') ?? 'no reason'}.`)
  } catch (error) {
    const query = { uploadId }
    const { signal: fresh } = new AbortController()
    await client.send({ method: 'DELETE', key, query, signal: fresh }).then(drained, () => undefined)
    throw error
  }
}

async function isThere(client: S3Client, key: string, signal: AbortSignal): Promise<boolean> {
  const answer = await client.send({ method: 'HEAD', key, signal })
  drained(answer)
  return answer.statusCode !== 404
}

/** The bytes of an object; where the connection breaks off, the rest is asked for. */
async function* resumed(client: S3Client, key: string, first: IncomingMessage, signal: AbortSignal) {
  let answer = first
  const etag = first.headers.etag
  let [at, tries] = [0, 0]
  for (;;)
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        at += chunk.length
        tries = 0
        yield chunk
      }
      if (answer.complete) return
      throw new Error('it was cut short')
    } catch (error) {
      signal.throwIfAborted()
      if (++tries > RESUMES || etag === undefined)
        throw new TargetTrouble(`${client.address} breaks off in the middle of ${key}.`, { cause: error })
      const headers = { 'range': `bytes=${at}-`, 'if-match': etag }
      answer = await client.send({ method: 'GET', key, headers, signal })
      if (answer.statusCode !== 206) throw new TargetTrouble(`${client.address} does not go on with ${key}.`)
    }
}

/** What people call a bucket and a prefix in it. */
export function s3Address({ endpoint, bucket }: Pick<S3Place, 'endpoint' | 'bucket'>, prefix: string): string {
  return `${endpoint.replace(/\/+$/, '')}/${bucket}${prefix === '' ? '' : `/${prefix}`}`
}

/**
 * A bucket of any S3-compatible store as a target, below a prefix.
 * @param prefix  empty, or without a slash at its ends
 */
export function createS3Store(place: S3Place, prefix: string, deps: S3ClientDeps = {}): TargetStore {
  const client = createS3Client(place, deps)
  const below = prefix === '' ? '' : `${prefix}/`
  const at = (key: string): string => `${below}${key}`

  async function ask(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<string> {
    const answer = await client.send({ method: 'GET', key: '', query, signal })
    const xml = await textOf(answer)
    if (answer.statusCode === 404) throw new TargetTrouble(`${client.address} lists nothing: there is no such bucket.`)
    return xml
  }

  async function* list(folder: string, signal: AbortSignal): AsyncGenerator<Kept> {
    for (let token: string | undefined = ''; token !== undefined;) {
      const query = {
        'list-type': '2',
        'encoding-type': 'url',
        'prefix': at(folder),
        ...(token === '' ? {} : { 'continuation-token': token }),
      }
      const xml = await ask(query, signal)
      for (const block of blocks(xml, 'Contents'))
        yield {
          key: keyOf(block).slice(below.length),
          sizeBytes: Number(element(block, 'Size')),
          modifiedAt: new Date(element(block, 'LastModified') ?? ''),
        }
      token = element(xml, 'IsTruncated') === 'true' ? element(xml, 'NextContinuationToken') : undefined
    }
  }

  return {
    address: s3Address(place, prefix),
    list,
    read: async (key, signal) => {
      const answer = await client.send({ method: 'GET', key: at(key), signal })
      return answer.statusCode === 404 ? undefined : resumed(client, at(key), answer, signal)
    },
    put: async (key, body, signal) => {
      const parts = partsOf(body)
      try {
        const { bytes, isLast } = (await parts.next()).value as Part
        if (!isLast) return await putInParts(client, at(key), parts, { first: bytes, signal })
        const answer = await client.send({ method: 'PUT', key: at(key), body: bytes, signal })
        drained(answer)
        if (answer.statusCode === 404) throw new TargetTrouble(`${client.address} has no such bucket.`)
      } finally {
        await parts.return(undefined)
      }
    },
    settle: () => Promise.resolve(),
    remove: async (key, signal) => drained(await client.send({ method: 'DELETE', key: at(key), signal })),
    now: async signal => {
      const answer = await client.send({ method: 'HEAD', key: '', signal })
      drained(answer)
      const told = new Date(answer.headers.date ?? '')
      if (Number.isNaN(told.getTime())) throw new TargetTrouble(`${client.address} does not say what time it is.`)
      return told
    },
    free: () => Promise.resolve(undefined),
    sweepUnfinished: async (before, signal) => {
      const xml = await ask({ 'uploads': '', 'prefix': below, 'encoding-type': 'url' }, signal)
      for (const block of blocks(xml, 'Upload')) {
        const [key, uploadId] = [keyOf(block), element(block, 'UploadId')]
        const begun = new Date(element(block, 'Initiated') ?? '')
        if (uploadId === undefined || !key.startsWith(below) || !(begun < before)) continue
        drained(await client.send({ method: 'DELETE', key, query: { uploadId }, signal }))
      }
    },
    close: () => client.close(),
  }
}
