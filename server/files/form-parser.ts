import { Busboy, type BusboyInstance } from '@fastify/busboy'
import type { RawRequest } from '../core/contract.ts'
import { AppError } from '../core/errors.ts'

const LINGER_MS = 60_000
/** A refused form is read on for at least this many bytes. */
const LINGER_BYTES = 64 * 1024 * 1024

/** How much of what a form may have beside its files. */
export interface FormLimits {
  readonly fields: number
  /** Bytes of one field. */
  readonly fieldSize: number
  readonly fieldNameSize: number
  readonly headerPairs: number
  readonly headerSize: number
  readonly files?: number
  /** Fields and files together. */
  readonly parts?: number
}

/** The fields that a form may have, and those that it has. */
export interface Fields {
  /** Beside the files, which are under the name `file`; another one is refused. */
  readonly known: readonly string[]
  /** Receives them. */
  readonly fields: Map<string, string>
}

export const incomplete = (cause?: unknown): AppError => new AppError('upload_incomplete', {}, cause)
export const badForm = (said: string, cause?: unknown): AppError => new AppError('bad_request', { said }, cause)

export const isForm = ({ headers }: Pick<RawRequest, 'headers'>): boolean =>
  /^multipart\/form-data\b/i.test(headers['content-type'] ?? '')

/** @throws bad_request */
export function makeParser({ headers }: Pick<RawRequest, 'headers'>, limits: FormLimits): BusboyInstance {
  const type = headers['content-type'] ?? ''
  try {
    return new Busboy({ headers: { ...headers, 'content-type': type }, limits, fileHwm: 256 * 1024 })
  } catch (error) {
    throw badForm('The Content-Type of the form has no usable boundary.', error)
  }
}

/** How a message shows the name of a part; the parser also reports parts that have none, against its types. */
export const shownName = (name: string | undefined): string => (name || '(no name)').slice(0, 40)

/** Collects the fields; refuses unknown ones, too many, too long ones, and two values of one name. */
export function followFields(
  parser: BusboyInstance,
  { known, fields }: Fields,
  refuse: (refusal: AppError) => void,
): void {
  parser.on('field', (name: string | undefined, value, nameCut, valueCut) => {
    const shown = shownName(name)
    if (nameCut || valueCut) refuse(badForm(`The form field ${shown} is too long.`))
    // a file sent as text is missing as a file, which says more
    else if (name === undefined || (name !== 'file' && !known.includes(name)))
      refuse(new AppError('unknown_field', { field: shown, known: ['file', ...known].join(', ') }))
    // whoever looks at the form before us may take the other one
    else if ((fields.get(name) ?? value) !== value)
      refuse(badForm(`The request has the field ${shown} twice, with two values. Send it once.`))
    else fields.set(name, value)
  })
  parser.on('fieldsLimit', () => refuse(badForm('The form has too many fields.')))
}

/**
 * The name of a file without folders, control characters and excess length. It is shown and hints at the kind of file;
 * it is never a path.
 */
export function plainName(filename: string | undefined): string {
  // eslint-disable-next-line no-control-regex -- control characters are exactly what is removed here
  const printable = (filename ?? '').replace(/[\u0000-\u001f\u007f]/g, '')
  return printable.replace(/^.*[\\/]/, '').slice(0, 255) || 'the file'
}

/**
 * Reads on after a refusal and discards the bytes. A client that is still sending reads no answer before it is done; if
 * the connection closed, it would see only that. Bounded in bytes and time.
 */
export function linger(stream: RawRequest['stream'], limitBytes: number): void {
  if (stream.complete || stream.destroyed) return
  let left = Math.max(2 * limitBytes, LINGER_BYTES)
  const stop = (): void => {
    stream.destroy()
  }
  const timer = setTimeout(stop, LINGER_MS).unref()
  stream.on('data', (chunk: Buffer) => {
    if ((left -= chunk.length) < 0) stop()
  })
  stream.once('close', () => clearTimeout(timer))
  stream.resume()
}
