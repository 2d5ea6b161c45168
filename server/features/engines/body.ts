import { Busboy, type BusboyInstance } from '@fastify/busboy'
import type { Readable } from 'node:stream'
import type { RawRequest } from '../../core/contract.ts'
import { AppError, fail } from '../../core/errors.ts'
import type { Spool, SpooledFile } from '../../files/spool.ts'

/** A file of data that has arrived, and what was said beside it. Whoever holds it must discard the file. */
export interface Received { readonly file: SpooledFile; readonly fields: ReadonlyMap<string, string> }

const LIMITS = { files: 1, fields: 10, parts: 12, fieldSize: 1_024, fieldNameSize: 100, headerPairs: 50, headerSize: 8 * 1_024 }

/** Shown in messages and kept as a hint of what it is; never a path. */
function plainName(name: string | undefined): string {
  // eslint-disable-next-line no-control-regex -- control characters are exactly what is removed here
  return (name ?? '').replace(/[\u0000-\u001f\u007f]/g, '').replace(/^.*[\\/]/, '').slice(0, 255) || 'the file'
}

interface Options { readonly spool: Pick<Spool, 'receive'>; readonly limitBytes: number; readonly filename: string | undefined }

async function receiveForm(raw: RawRequest, type: string, { spool, limitBytes }: Options): Promise<Received> {
  const fields = new Map<string, string>()
  let receiving: Promise<SpooledFile> | undefined
  let parser: BusboyInstance
  try {
    parser = new Busboy({ headers: { ...raw.headers, 'content-type': type }, limits: LIMITS, fileHwm: 256 * 1_024 })
  } catch (error) {
    throw new AppError('bad_request', { said: 'The Content-Type of the form has no usable boundary.' }, error)
  }
  let body: Readable | undefined
  try {
    await new Promise<void>((resolve, reject) => {
      const refuse = (said: string): void => reject(new AppError('bad_request', { said }))
      parser.on('field', (name, value, nameCut, valueCut) => { if (nameCut || valueCut) refuse('A field of the form is too long.'); else fields.set(name, value) })
      parser.on('file', (name, stream, filename) => {
        stream.on('error', () => undefined) // whoever reads it is told as well
        if (name !== 'file' || receiving !== undefined) {
          stream.resume()
          return refuse('The form has a file that is not asked for. One is taken, under the name file.')
        }
        body = stream
        receiving = spool.receive(stream, { filename: plainName(filename), limitBytes, signal: raw.signal })
        receiving.catch(reject)
      })
      parser.on('filesLimit', () => refuse('The form has more than one file.'))
      parser.on('error', error => reject(new AppError('upload_incomplete', {}, error)))
      parser.on('finish', () => resolve())
      raw.stream.on('close', () => { if (!raw.stream.complete) reject(new AppError('upload_incomplete', {})) })
      raw.stream.on('error', error => reject(new AppError('upload_incomplete', {}, error)))
      raw.stream.pipe(parser)
    })
    return { file: await (receiving ?? fail('missing_field', { field: 'file' })), fields }
  } catch (error) {
    raw.stream.unpipe(parser)
    body?.destroy(new AppError('upload_incomplete', {}))
    await receiving?.then(file => file.discard(), () => undefined)
    raw.stream.resume() // who is still sending reads no answer before it is done
    throw error
  }
}

/**
 * Takes the file in, to disk while it arrives: as a form, or as the body itself.
 * @throws bad_request, missing_field, upload_incomplete, upload_too_large, storage_full; then nothing is left on disk
 */
export async function receiveData(raw: RawRequest, options: Options): Promise<Received> {
  const { spool, limitBytes, filename } = options
  if (Number(raw.headers['content-length'] ?? 0) > limitBytes + 128 * 1_024) {
    raw.stream.resume()
    fail('upload_too_large', { limit_mb: Math.floor(limitBytes / 1_024 / 1_024) })
  }
  const type = raw.headers['content-type'] ?? 'application/octet-stream'
  if (/^multipart\/form-data\b/i.test(type)) return receiveForm(raw, type, options)
  try {
    const file = await spool.receive(raw.stream.iterator({ destroyOnReturn: false }), { filename: plainName(filename), limitBytes, signal: raw.signal })
    if (file.blob.size > 0) return { file, fields: new Map() }
    await file.discard()
    return fail('missing_field', { field: 'file' })
  } catch (error) {
    raw.stream.resume()
    throw error
  }
}
