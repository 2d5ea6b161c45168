import type { BusboyInstance } from '@fastify/busboy'
import type { Readable } from 'node:stream'
import type { RawRequest } from '../core/contract.ts'
import { fail } from '../core/errors.ts'
import { badForm, followFields, incomplete, isForm, linger, makeParser, plainName, shownName } from './form-parser.ts'
import { tooLarge, type SizeLimit, type Spool, type SpooledFile } from './spool.ts'

/** A form that has arrived whole: its one file on disk, its fields as text. The holder must discard the file. */
export interface Form {
  readonly file: SpooledFile
  readonly fields: ReadonlyMap<string, string>
}

export interface FormOptions extends SizeLimit {
  readonly spool: Pick<Spool, 'receive'>
  /** As `ReceiveOptions` has it. */
  readonly isUrgent?: true
  /** The fields beside the file; another one is refused. */
  readonly known: readonly string[]
  /** Called with the first 512 bytes of the file and the fields before it. Throws to refuse the rest. */
  readonly check?: (start: {
    readonly head: Uint8Array
    readonly filename: string
    readonly fields: ReadonlyMap<string, string>
  }) => void
}

const LIMITS = {
  files: 1,
  fields: 10,
  parts: 12,
  fieldSize: 1024,
  fieldNameSize: 100,
  headerPairs: 50,
  headerSize: 8 * 1024,
}
/** The most bytes that a form may have beside its file. */
const AROUND_BYTES = 128 * 1024
/** Refuses by the length that the client announces. @throws upload_too_large */
function needRoom({ headers }: RawRequest, limit: SizeLimit): void {
  if (Number(headers['content-length'] ?? 0) > limit.limitBytes + AROUND_BYTES) throw tooLarge(limit)
}

interface Listener {
  readonly known: readonly string[]
  /** Receives the fields. */
  readonly fields: Map<string, string>
  readonly file: (body: Readable, filename: string) => Promise<unknown>
  readonly limit: SizeLimit
}

/** Turns all events of a form into one promise that settles once. */
function follow(raw: RawRequest, parser: BusboyInstance, on: Listener): Promise<void> {
  const { stream, signal } = raw
  return new Promise((resolve, reject) => {
    let files = 0
    let size = 0
    followFields(parser, on, reject)
    parser.on('file', (name: string | undefined, body, filename) => {
      body.on('error', () => undefined) // whoever reads the file gets the error as well
      if (name === 'file' && files++ === 0) return void on.file(body, plainName(filename)).catch(reject)
      body.resume()
      reject(badForm(`The form has a file under ${shownName(name)}. One file is taken, under the name file.`))
    })
    parser.on('filesLimit', () => reject(badForm('The form has more than one file. Send one file a request.')))
    parser.on('partsLimit', () => reject(badForm('The form has too many parts.')))
    parser.on('error', error => reject(incomplete(error)))
    parser.on('finish', () => resolve())
    stream.on('data', (chunk: Buffer) => {
      if ((size += chunk.length) > on.limit.limitBytes + AROUND_BYTES) reject(tooLarge(on.limit))
    })
    stream.on('error', error => reject(incomplete(error)))
    stream.on('close', () => {
      if (!stream.complete) reject(incomplete())
    })
    signal.addEventListener('abort', () => reject(incomplete(signal.reason)), { once: true })
  })
}

/**
 * Reads the form while it arrives; fields and file may come in any order. Memory: what the spool holds. On every throw
 * nothing is left on disk, and the request is drained so that the client can read the answer.
 * @throws bad_request, unknown_field, missing_field, uploads_stopped, upload_incomplete, upload_too_large,
 *   storage_full, and what `check` throws
 */
export async function readForm(raw: RawRequest, { spool, known, check, ...limit }: FormOptions): Promise<Form> {
  const fields = new Map<string, string>()
  let receiving: Promise<SpooledFile> | undefined
  let body: Readable | undefined
  let parser: BusboyInstance | undefined
  try {
    raw.signal.throwIfAborted()
    needRoom(raw, limit)
    if (!isForm(raw))
      throw badForm('Send the file as multipart/form-data, in the field file, with the other fields beside it.')
    parser = makeParser(raw, LIMITS)
    const whole = follow(raw, parser, {
      limit,
      known,
      fields,
      file: (stream, filename) => {
        body = stream
        return (receiving = spool.receive(stream, {
          ...limit,
          filename,
          signal: raw.signal,
          ...(check === undefined ? {} : { check: head => check({ head, filename, fields }) }),
        }))
      },
    })
    raw.stream.pipe(parser)
    await whole
    return { file: await (receiving ?? fail('missing_field', { field: 'file' })), fields }
  } catch (error) {
    if (parser !== undefined) raw.stream.unpipe(parser)
    body?.destroy(incomplete())
    await receiving?.then(
      file => file.discard(),
      () => undefined,
    )
    linger(raw.stream, limit.limitBytes)
    throw error
  }
}

/**
 * Receives a file as the body itself or in a form. @param options.filename  the name of the file when it is the body
 * @throws as `readForm`
 */
export async function readBody(
  raw: RawRequest,
  options: FormOptions & { readonly filename: string | undefined },
): Promise<Form> {
  if (isForm(raw)) return readForm(raw, options)
  const { spool, filename, known: _, check: __, ...limit } = options
  try {
    needRoom(raw, limit)
    const file = await spool.receive(raw.stream.iterator({ destroyOnReturn: false }), {
      ...limit,
      filename: plainName(filename),
      signal: raw.signal,
    })
    if (file.blob.size > 0) return { file, fields: new Map() }
    await file.discard()
    return fail('missing_field', { field: 'file' })
  } catch (error) {
    linger(raw.stream, limit.limitBytes)
    throw error
  }
}
