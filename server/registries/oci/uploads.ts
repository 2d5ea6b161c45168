import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, rename, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isRefusal } from '../../core/errors.ts'
import { tooLarge, type SpooledFile } from '../../files/spool.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import { chunksOf } from '../body.ts'
import { refuseAs } from './answers.ts'
import type { OciDeps } from './deps.ts'
import type { Repository } from '../../catalog/queries/oci.ts'
import {
  deleteOldUploads,
  deleteUpload,
  findUpload,
  insertUpload,
  listUploads,
  updateUpload,
  type UploadRow,
} from './upload-rows.ts'

/** One part of a blob. */
export interface Chunk {
  readonly body: Readable
  readonly signal: AbortSignal
  /** What `Content-Range` says: first and last byte. Absent: it follows what is here. */
  readonly range?: { readonly first: number; readonly last: number } | undefined
}

/**
 * Blobs that arrive in pieces. Their bytes lie in `.uploads/`, and how many of them count stands in the database: after
 * a crash an upload goes on behind the last piece that came whole.
 */
export interface Uploads {
  start(repository: Repository, by: string): Promise<UploadRow>
  /** @throws OciRefusal BLOB_UPLOAD_UNKNOWN */
  need(repository: Repository, id: string): Promise<UploadRow>
  /**
   * Takes a piece, whole or not at all.
   * @throws OciRefusal BLOB_UPLOAD_INVALID 416 for one out of order; upload_too_large, upload_incomplete
   */
  append(repository: Repository, id: string, chunk: Chunk): Promise<UploadRow>
  /** Takes the last piece, and hands all bytes to `take` as one file; the upload ends, whatever it says. */
  finish(repository: Repository, id: string, chunk: Chunk, take: (file: SpooledFile) => Promise<void>): Promise<void>
  cancel(repository: Repository, id: string): Promise<void>
  /** Ends those that nobody went on with since `before`, and removes files of none. */
  sweep(before: Date): Promise<void>
}

/** What is here, as clients are told it. Source: distribution specification 1.1, "Pushing a blob in chunks". */
export const rangeOf = (size: number): string => `0-${Math.max(0, size - 1)}`

const sizeOf = async (path: string): Promise<number> => (await stat(path).catch(() => undefined))?.size ?? 0

/** Makes the uploads of all repositories. */
export function createUploads(deps: Pick<OciDeps, 'db' | 'spool' | 'layout' | 'settings' | 'clock'>): Uploads {
  const { db, spool, layout, settings, clock } = deps
  const lock = createKeyedLock()
  const fileOf = (id: string): string => join(layout.uploads, id)

  async function need(repository: Repository, id: string): Promise<UploadRow> {
    const row = /^[0-9a-f-]{36}$/.test(id) ? await findUpload(db, { ...repository, id }) : undefined
    // a backup has the row, and not the file
    const isWhole = row !== undefined && (row.size === 0 || (await sizeOf(fileOf(id))) >= row.size)
    return (
      (isWhole ? row : undefined) ??
      refuseAs(
        404,
        'BLOB_UPLOAD_UNKNOWN',
        'There is no such upload: it has ended, or it was never begun. Begin a new one.',
      )
    )
  }

  /** Receives bytes that follow `size` others. */
  async function receive(stream: AsyncIterable<Buffer>, size: number, signal: AbortSignal): Promise<SpooledFile> {
    const limitBytes = settings.now().validation.max_upload_size_mb * 1024 * 1024
    try {
      return await spool.receive(stream, { filename: 'blob', limitBytes: Math.max(0, limitBytes - size), signal })
    } catch (error) {
      throw isRefusal(error, 'upload_too_large') ? tooLarge({ limitBytes }) : error
    }
  }

  function mustFollow({ size }: UploadRow, { range }: Chunk): void {
    if (range === undefined || (range.first === size && range.last >= range.first)) return
    refuseAs(
      416,
      'BLOB_UPLOAD_INVALID',
      `This piece does not follow what is here: ${size} bytes. Go on with byte ${size}.`,
      {
        Range: rangeOf(size),
      },
    )
  }

  async function add(row: UploadRow, file: SpooledFile): Promise<UploadRow> {
    const { id, size } = row
    const path = fileOf(id)
    if (size === 0) {
      await mkdir(layout.uploads, { recursive: true, mode: 0o750 })
      await rename(file.path, path)
    } else {
      // what a crash left behind the end that counts
      await truncate(path, size)
      await pipeline(createReadStream(file.path), createWriteStream(path, { flags: 'a' }))
    }
    const now = { ...row, size: size + file.blob.size, blob: size === 0 ? file.blob : undefined }
    await updateUpload(db, now, clock.now())
    return now
  }

  async function take(row: UploadRow, chunk: Chunk): Promise<UploadRow> {
    mustFollow(row, chunk)
    const file = await receive(chunksOf(chunk.body), row.size, chunk.signal)
    try {
      const { range } = chunk
      if (range !== undefined && range.last - range.first + 1 !== file.blob.size)
        refuseAs(
          416,
          'BLOB_UPLOAD_INVALID',
          `Content-Range says ${range.last - range.first + 1} bytes, and ${file.blob.size} came. Nothing of this piece was kept.`,
          {
            Range: rangeOf(row.size),
          },
        )
      return file.blob.size === 0 ? row : await add(row, file)
    } finally {
      await file.discard()
    }
  }

  /** All bytes as one file that has arrived. */
  async function whole({ id, size, blob }: UploadRow, signal: AbortSignal): Promise<SpooledFile> {
    if (size === 0) return receive((async function* () {})(), 0, signal)
    const path = fileOf(id)
    if ((await stat(path)).size !== size) await truncate(path, size)
    // several pieces have no digest yet
    if (blob === undefined) return receive(createReadStream(path), 0, signal)
    return { path, filename: 'blob', blob, head: new Uint8Array(), discard: () => rm(path, { force: true }) }
  }

  async function end(id: string): Promise<void> {
    await deleteUpload(db, id)
    await rm(fileOf(id), { force: true })
  }

  return {
    need,
    async start({ codename, name }, by) {
      const row: UploadRow = { id: randomUUID(), codename, name, startedBy: by, size: 0, blob: undefined }
      await insertUpload(db, row, clock.now())
      return row
    },
    append: (repository, id, chunk) => lock.run(id, async () => take(await need(repository, id), chunk)),
    finish: (repository, id, chunk, done) =>
      lock.run(id, async () => {
        const row = await take(await need(repository, id), chunk)
        try {
          const file = await whole(row, chunk.signal)
          try {
            await done(file)
          } finally {
            await file.discard()
          }
        } finally {
          await end(id)
        }
      }),
    cancel: (repository, id) =>
      lock.run(id, async () => {
        await end((await need(repository, id)).id)
      }),
    async sweep(before) {
      await deleteOldUploads(db, before)
      // files first: a new upload has its row before its file, so one that begins meanwhile is not among them
      const files = await readdir(layout.uploads).catch(() => [])
      const known = await listUploads(db)
      for (const name of files) {
        if (!known.has(name)) await lock.run(name, () => rm(fileOf(name), { force: true }))
      }
    },
  }
}
