import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import tar from 'tar-stream'
import type { RawRequest } from '../core/contract.ts'
import { AppError, fail, isRefusal } from '../core/errors.ts'
import { printBytes } from '../lib/limited.ts'
import {
  badForm,
  followFields,
  incomplete,
  isForm,
  linger,
  makeParser,
  plainName,
  shownName,
  type Fields,
} from './form-parser.ts'

/** One file of a request that has many. */
export interface Member {
  readonly filename: string
  /** May be read in part, or not at all: the rest is passed over. */
  readonly body: AsyncIterable<Buffer>
  /** Why this one may not be taken, whatever its bytes are. */
  readonly why?: string
}

/** Fields that come before the first file of a form are there when it is taken. */
export interface ManyOptions extends Fields {
  /** Called with each file in order. The next one is read when it resolves; when it throws, reading ends. */
  readonly take: (member: Member) => Promise<void>
}

/** The most bytes of one request. */
const MOST_BYTES = 8 * 2 ** 30
/** So many small files may wait in memory, each with at most one chunk of the request. */
const AHEAD = 16
const FORM_LIMITS = { fields: 10, fieldSize: 256 * 1024, fieldNameSize: 100, headerPairs: 50, headerSize: 8 * 1024 }
const END_MARK = 1024

/** The request's chunks, counted. @throws upload_incomplete, bad_request when there are too many bytes */
async function* chunksOf({ stream, signal }: RawRequest): AsyncGenerator<Buffer> {
  let size = 0
  try {
    for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      signal.throwIfAborted()
      if ((size += chunk.length) > MOST_BYTES)
        fail('bad_request', {
          said: `The request is larger than ${printBytes(MOST_BYTES)}. Send the rest in another one.`,
        })
      yield chunk
    }
  } catch (error) {
    throw isRefusal(error) ? error : incomplete(error)
  }
  if (!stream.complete) throw incomplete()
}

/** A body that can be left before its end. Leaving a stream would destroy it, and with it what reads the request. */
function bodyOf(stream: AsyncIterable<Buffer>): { readonly body: Member['body']; passRest(): Promise<void> } {
  const chunks = stream[Symbol.asyncIterator]()
  return {
    body: { [Symbol.asyncIterator]: () => ({ next: () => chunks.next() }) },
    async passRest() {
      let next = await chunks.next()
      while (next.done !== true) next = await chunks.next()
    },
  }
}

async function readForm(raw: RawRequest, { known, fields, take }: ManyOptions): Promise<void> {
  const parser = makeParser(raw, FORM_LIMITS)
  let failure: unknown
  const open = new Set<Readable>()
  let wake = (): void => undefined
  let turn = Promise.resolve()
  const ended = new Promise<void>(resolve => {
    parser.once('finish', resolve)
    parser.on('error', error => {
      failure ??= incomplete(error)
      resolve()
    })
  })
  followFields(parser, { known, fields }, refusal => {
    failure ??= refusal
  })
  let hasFile = false
  parser.prependListener('field', (name: string | undefined) => {
    // it would hold for some files and not for others
    if (hasFile)
      failure ??= badForm(`The form field ${shownName(name)} comes after a file. Send the fields before the files.`)
  })
  parser.on('file', (name: string | undefined, stream, filename) => {
    hasFile = true
    stream.on('error', () => undefined) // whoever reads the file gets the error as well
    open.add(stream)
    if (name !== 'file')
      failure ??= badForm(`The form has a file under ${shownName(name)}. Files are taken under the name file.`)
    turn = turn
      .then(async () => {
        if (failure !== undefined) return
        const { body, passRest } = bodyOf(stream)
        await take({ filename: plainName(filename), body })
        await passRest()
      })
      .catch((error: unknown) => {
        failure ??= error
      })
      .then(() => {
        open.delete(stream)
        wake()
        stream.resume()
      })
  })
  try {
    for await (const chunk of chunksOf(raw)) {
      await Promise.race([new Promise<void>(resolve => parser.write(chunk, () => resolve())), ended])
      // the newest one may need the next chunk to end, so this must not wait for all
      while (open.size > AHEAD && failure === undefined)
        await new Promise<void>(resolve => {
          wake = resolve
        })
      if (failure !== undefined) break
    }
    if (failure === undefined) {
      parser.end()
      await ended
    }
  } catch (error) {
    failure ??= error
  }
  // who reads one of them waits for bytes that will not come
  if (failure !== undefined) for (const body of open) body.destroy(incomplete(failure))
  await turn
  if (failure !== undefined) throw failure
}

/** Why a tar may not have this entry; undefined for a plain file. A folder by itself is passed over. */
function complain({
  name,
  type,
}: {
  readonly name: string
  readonly type: string | null | undefined
}): string | undefined {
  if (type !== 'file' && type !== 'contiguous-file')
    return `it is a ${type ?? 'special file'}, and only files are taken`
  const plain = name.replace(/^(\.\/)+/, '')
  if (plain.includes('/') || plain === '..' || plain.includes('\0'))
    return 'its name has a folder. Pack the files without folders: tar -C folder -cf - a.deb b.deb'
  return undefined
}

const COMPRESSED: Readonly<Record<string, string>> = {
  '1f8b': 'gzip',
  '425a68': 'bzip2',
  'fd377a58': 'xz',
  '28b52ffd': 'zstd',
}

/** Why a tar cannot be read, in words of ours. */
function whyUnread(error: unknown, begin: Buffer): string {
  const message = error instanceof Error ? error.message : String(error)
  if (/end of data|destroyed|premature/i.test(message)) return 'it is cut off'
  const packed = Object.entries(COMPRESSED).find(([magic]) => begin.toString('hex').startsWith(magic))?.[1]
  if (packed !== undefined) return `it is compressed with ${packed}. Packages are compressed already: send a plain tar`
  if (/max size/i.test(message)) return 'a long name or pax header in it is too large'
  return 'it is no tar, or one of its headers is damaged'
}

async function readTar(raw: RawRequest, { take }: ManyOptions): Promise<void> {
  const extract = tar.extract()
  let begin: Buffer | undefined
  let last = Buffer.alloc(0)
  async function* tapped(): AsyncGenerator<Buffer> {
    for await (const chunk of chunksOf(raw)) {
      begin ??= chunk.subarray(0, 8)
      last = Buffer.concat([last, chunk]).subarray(-END_MARK)
      yield chunk
    }
  }
  const feeding = pipeline(Readable.from(tapped(), { objectMode: false }), extract as unknown as NodeJS.WritableStream)
  feeding.catch(() => undefined) // the entries below end with the same error
  try {
    for await (const entry of extract) {
      const { name, type } = entry.header
      const { body, passRest } = bodyOf(entry as unknown as AsyncIterable<Buffer>)
      const why = complain({ name, type })
      if (type !== 'directory') await take({ filename: plainName(name), body, ...(why === undefined ? {} : { why }) })
      await passRest()
    }
    await feeding
  } catch (error) {
    extract.destroy()
    if (error instanceof AppError) throw error
    throw new AppError('bad_archive', { why: whyUnread(error, begin ?? last) }, error)
  }
  if (last.length < END_MARK || last.some(byte => byte !== 0))
    fail('bad_archive', { why: 'it has no end mark, so it is cut off' })
}

/**
 * Reads a form with many files, or a tar, while it arrives. @throws bad_request, bad_archive, upload_incomplete, and
 * what `take` throws; the files taken before are not touched, and the request is drained so that the client can read
 * the answer
 */
export async function readMany(raw: RawRequest, options: ManyOptions): Promise<void> {
  try {
    raw.signal.throwIfAborted()
    if (isForm(raw)) await readForm(raw, options)
    else if (/^application\/(x-)?tar\b/i.test(raw.headers['content-type'] ?? '')) await readTar(raw, options)
    else
      fail('bad_request', {
        said: 'Send the files as multipart/form-data, or as a tar with Content-Type: application/x-tar.',
      })
  } catch (error) {
    linger(raw.stream, MOST_BYTES)
    throw error
  }
}
