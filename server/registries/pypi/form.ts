import type { Readable } from 'node:stream'
import { fail } from '../../core/errors.ts'
import { badForm, incomplete, isForm, makeParser, plainName } from '../../files/form-parser.ts'
import { tooLarge, type SizeLimit, type Spool, type SpooledFile } from '../../files/spool.ts'
import type { RegistryRequest } from '../protocol.ts'

/** What an upload brings. The fields that describe the package are not in it: the file itself says that. */
export interface UploadForm {
  readonly file: SpooledFile
  readonly fields: ReadonlyMap<string, string>
}

/** What is read of a form; twine sends some thirty more, the description of the package among them. */
const KEPT = new Set([
  ':action',
  'protocol_version',
  'sha256_digest',
  'md5_digest',
  'blake2_256_digest',
  'attestations',
])
/** The largest attestations: a bundle of Sigstore has some 12 KB. */
const MAX_FIELD = 512 * 1024
/** Beside the file: descriptions are sent whole. */
const AROUND_BYTES = 16 * 2 ** 20
const LIMITS = {
  fields: 5_000,
  fieldSize: 8 * 2 ** 20,
  fieldNameSize: 200,
  headerPairs: 50,
  headerSize: 16 * 1024,
  files: 2,
  parts: 5_002,
}

interface Listener {
  readonly fields: Map<string, string>
  readonly file: (body: Readable, filename: string) => Promise<unknown>
  readonly limit: SizeLimit
}

/** Turns all events of a form into one promise that settles once. */
function follow({ headers, body, signal }: RegistryRequest, on: Listener): Promise<void> {
  const parser = makeParser({ headers }, LIMITS)
  return new Promise((resolve, reject) => {
    let files = 0
    let size = 0
    parser.on('field', (name: string | undefined, value, nameCut, valueCut) => {
      if (name === undefined || !KEPT.has(name)) return
      if (nameCut || valueCut || value.length > MAX_FIELD) reject(badForm(`The form field ${name} is too long.`))
      else if ((on.fields.get(name) ?? value) !== value)
        reject(badForm(`The form has the field ${name} twice, with two values. Send it once.`))
      else on.fields.set(name, value)
    })
    parser.on('file', (name: string | undefined, stream, filename) => {
      stream.on('error', () => undefined) // whoever reads the file gets the error as well
      if (name === 'content' && files++ === 0) return void on.file(stream, plainName(filename)).catch(reject)
      stream.resume()
      // older clients add a signature, which PyPI does not read either
      if (name !== 'gpg_signature') reject(badForm('The form has more than one file. Send one file a request.'))
    })
    parser.on('fieldsLimit', () => reject(badForm('The form has too many fields.')))
    parser.on('filesLimit', () => reject(badForm('The form has more than one file. Send one file a request.')))
    parser.on('partsLimit', () => reject(badForm('The form has too many parts.')))
    parser.on('error', error => reject(incomplete(error)))
    parser.on('finish', () => resolve())
    body.on('data', (chunk: Buffer) => {
      if ((size += chunk.length) > on.limit.limitBytes + AROUND_BYTES) reject(tooLarge(on.limit))
    })
    body.on('error', error => reject(incomplete(error)))
    body.on('close', () => {
      if (!body.readableEnded) reject(incomplete())
    })
    signal.addEventListener('abort', () => reject(incomplete(signal.reason)), { once: true })
    body.pipe(parser)
  })
}

/**
 * Reads the form of an upload while it arrives; the file goes to the spool. On every throw nothing is left on disk.
 * @throws bad_request, missing_field, upload_incomplete, upload_too_large, and what the spool throws
 * Source: https://docs.pypi.org/api/upload/
 */
export async function readUpload(
  request: RegistryRequest,
  { spool, ...limit }: SizeLimit & { readonly spool: Pick<Spool, 'receive'> },
): Promise<UploadForm> {
  const fields = new Map<string, string>()
  let receiving: Promise<SpooledFile> | undefined
  let content: Readable | undefined
  try {
    request.signal.throwIfAborted()
    if (Number(request.headers['content-length'] ?? 0) > limit.limitBytes + AROUND_BYTES) throw tooLarge(limit)
    if (!isForm({ headers: request.headers }))
      throw badForm('Send the package as multipart/form-data, in the field content, as twine does.')
    await follow(request, {
      limit,
      fields,
      file: (stream, filename) => {
        content = stream
        return (receiving = spool.receive(stream, { ...limit, filename, signal: request.signal }))
      },
    })
    return { file: await (receiving ?? fail('missing_field', { field: 'content' })), fields }
  } catch (error) {
    request.body.unpipe()
    content?.destroy(incomplete())
    await receiving?.then(
      file => file.discard(),
      () => undefined,
    )
    throw error
  }
}
