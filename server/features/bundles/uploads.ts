import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { RawRequest } from '../../core/contract.ts'
import { AppError, fail } from '../../core/errors.ts'
import type { Db } from '../../db/db.ts'
import { linger } from '../../files/form-parser.ts'
import type { Layout } from '../../files/layout.ts'
import { space } from '../../lib/disk-space.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'

/** A file that arrives in pieces: a connection that breaks loses nothing that came. Sizes in bytes. */
export interface UploadView {
  readonly id: string
  readonly file_name: string
  readonly size: number
  readonly received: number
}

export interface Uploads {
  /** Begins one, or goes on with the one of the same person, name and size. @throws bundle_no_room */
  begin(wish: { readonly fileName: string; readonly size: number; readonly by: string }): Promise<UploadView>
  /** @throws bundle_upload_not_found */
  get(id: string): Promise<UploadView>
  /**
   * Adds the body of a request, from `offset` on. What came before a fault stays.
   * @throws bundle_offset, bundle_upload_not_found, upload_incomplete, upload_too_large, storage_full
   */
  append(id: string, offset: number, raw: RawRequest): Promise<UploadView>
  /** Where a whole one lies. @throws bundle_upload_incomplete, bundle_upload_not_found */
  whole(id: string): Promise<{ readonly path: string; readonly fileName: string }>
  drop(id: string): Promise<void>
  /** Removes those that nobody has added to for three days. */
  sweep(now: Date): Promise<void>
}

interface Row {
  readonly id: string
  readonly file_name: string
  readonly size: number
}

const MB = 1024 ** 2
const KEPT_MS = 3 * 86_400_000

/** Uploads below `bundles/uploads/`. */
export function createUploads({ db, layout }: { readonly db: Db; readonly layout: Pick<Layout, 'bundles'> }): Uploads {
  const folder = join(layout.bundles, 'uploads')
  const lock = createKeyedLock()
  const pathOf = (id: string): string => join(folder, id)
  const receivedOf = (id: string): Promise<number> =>
    stat(pathOf(id)).then(
      found => found.size,
      () => 0, // nothing came yet
    )

  async function need(id: string): Promise<Row> {
    const row = await db.first<Row>('select id, file_name, size from bundle_upload where id = $1', [id])
    return row ?? fail('bundle_upload_not_found', { id })
  }
  const view = async (row: Row): Promise<UploadView> => ({ ...row, received: await receivedOf(row.id) })

  async function write({ id, size }: Row, at: number, { stream, signal }: RawRequest): Promise<void> {
    const handle = await open(pathOf(id), at === 0 ? 'w' : 'r+', 0o640)
    try {
      let position = at
      for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        signal.throwIfAborted()
        if (position + chunk.length > size)
          throw new AppError('upload_too_large', {
            limit_mb: Math.ceil(size / MB),
            remedy: 'More bytes came than the upload was begun for.',
          })
        let written = 0
        while (written < chunk.length)
          written += (await handle.write(chunk, written, chunk.length - written, position + written)).bytesWritten
        position += chunk.length
      }
      await handle.datasync()
    } finally {
      await handle.close()
    }
  }

  return {
    async begin({ fileName, size, by }) {
      const known = await db.first<Row>(
        'select id, file_name, size from bundle_upload where file_name = $1 and size = $2 and created_by = $3',
        [fileName, size, by],
      )
      if (known !== undefined) return view(known)
      await mkdir(folder, { recursive: true, mode: 0o750 })
      const { freeBytes } = await space(folder)
      if (freeBytes < size)
        fail('bundle_no_room', { needs_mb: Math.ceil(size / MB), free_mb: Math.floor(freeBytes / MB) })
      const id = randomBytes(12).toString('hex')
      await db.query('insert into bundle_upload (id, file_name, size, created_by) values ($1, $2, $3, $4)', [
        id,
        fileName,
        size,
        by,
      ])
      return { id, file_name: fileName, size, received: 0 }
    },
    get: async id => view(await need(id)),
    append: (id, offset, raw) =>
      lock.run(id, async () => {
        try {
          const row = await need(id)
          const received = await receivedOf(id)
          if (offset !== received) fail('bundle_offset', { id, received })
          await write(row, offset, raw)
          return await view(row)
        } catch (error) {
          linger(raw.stream, 64 * MB)
          const { code } = error as NodeJS.ErrnoException
          if (code === 'ENOSPC' || code === 'EDQUOT') return fail('storage_full', {}, error)
          if (error instanceof AppError) throw error
          return fail('upload_incomplete', {}, error)
        }
      }),
    async whole(id) {
      const { size, file_name: fileName } = await need(id)
      const received = await receivedOf(id)
      if (received !== size) fail('bundle_upload_incomplete', { id, received, size })
      return { path: pathOf(id), fileName }
    },
    async drop(id) {
      await db.query('delete from bundle_upload where id = $1', [id])
      await rm(pathOf(id), { force: true })
    },
    async sweep(now) {
      const rows = await db.query<Row & { created_at: Date }>(
        'select id, file_name, size, created_at from bundle_upload',
      )
      for (const { id, created_at: createdAt } of rows) {
        const touched = await stat(pathOf(id)).then(
          found => found.mtimeMs,
          () => createdAt.getTime(),
        )
        if (now.getTime() - touched > KEPT_MS) await this.drop(id)
      }
      const known = new Set(rows.map(({ id }) => id))
      const files = await readdir(folder).catch((): string[] => [])
      for (const name of files) if (!known.has(name)) await rm(join(folder, name), { force: true })
    },
  }
}
