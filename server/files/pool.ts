import { statSync, type Dirent } from 'node:fs'
import { access, open, readdir, rm, stat, utimes } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Sha256 } from '../core/identity.ts'
import type { PackageFile } from '../core/manifest.ts'
import type { Clock } from '../lib/clock.ts'
import { moveTogether } from '../lib/disk-thread.ts'
import { failpoint } from '../lib/failpoint.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'
import type { Layout } from './layout.ts'
import { together, type SpooledFile } from './spool.ts'

/**
 * Content-addressed bytes. Files in `pool/` may be linked into a tree, files in `quarantine/` never. All calls are
 * idempotent.
 */
export interface Pool {
  /** Moves a spooled file into the pool, also when quarantine held the same bytes. Durable when it returns. */
  add(file: SpooledFile): Promise<void>
  /** Moves a spooled file into quarantine, unless the pool has the same bytes. */
  quarantine(file: SpooledFile): Promise<void>
  /** Quarantine → pool. Does nothing when it is in the pool already. */
  release(digest: Sha256): Promise<void>
  /** Pool → quarantine. */
  confine(digest: Sha256): Promise<void>
  /** Deletes the bytes from both. A hard link in a published tree keeps its own. */
  remove(digest: Sha256): Promise<void>
  has(digest: Sha256): Promise<'pool' | 'quarantine' | 'nowhere'>
  /** The path to read from, in either area. @throws ENOENT */
  locate(digest: Sha256): Promise<string>
  /**
   * Deletes every blob that `isNeeded` denies and that is older than an hour.
   * @param alone  runs its work unless another process is about to need the file, and keeps it from beginning to
   */
  sweep(
    isNeeded: (digest: Sha256) => Promise<boolean>,
    alone?: (digest: Sha256, work: () => Promise<void>) => Promise<boolean>,
  ): Promise<{ readonly removed: number }>
}

/**
 * The files of a version that is kept, as those of one that arrives; discarding them does nothing. @throws ENOENT
 */
export async function readPooled(
  pool: Pick<Pool, 'locate'>,
  [first, ...others]: readonly [PackageFile, ...PackageFile[]],
): Promise<SpooledFile> {
  const read = async ({ path: filename, blob }: PackageFile): Promise<SpooledFile> => ({
    path: await pool.locate(blob.sha256),
    filename,
    blob,
    head: new Uint8Array(),
    discard: () => Promise.resolve(),
  })
  const main = await read(first)
  return others.length === 0 ? main : together(main, await Promise.all(others.map(read)))
}

export interface PoolDeps {
  readonly layout: Pick<Layout, 'pool' | 'quarantine' | 'blob' | 'quarantined'>
  readonly clock: Clock
}

/** Larger files are made durable by themselves: small ones that come with them need not wait for that. */
const LARGE = 1024 * 1024
// a new blob may not have its row yet: an upload is committed within minutes of its last byte
const SPARED_MS = 60 * 60 * 1000

// asked several times for each upload, mostly in vain: a rejected promise costs a hundred times as much
const sizeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.size

async function fsyncFile(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Makes the pool. Bytes are made durable (file, then folder) before any call returns. */
export function createPool({ layout, clock }: PoolDeps): Pool {
  // the sweep must not remove the same bytes between the check and the move
  const lock = createKeyedLock()

  /** True when the whole blob is there; it then counts as new for `sweep`. */
  async function refresh(path: string, size: number): Promise<boolean> {
    // absent, or torn by a disk that lied about its fsync: the whole file replaces it
    if (sizeOf(path) !== size) return false
    const now = clock.now()
    await utimes(path, now, now)
    return true
  }

  /** What the place has whole counts as new; what is torn by a disk that lied about its fsync is replaced. */
  const move = (from: string, to: string, sizeBytes: number): Promise<void> =>
    moveTogether({ from, to, sizeBytes, now: clock.now() })

  async function place({ path, blob: { size } }: SpooledFile, to: string): Promise<void> {
    if (size > LARGE && sizeOf(to) !== size) await fsyncFile(path)
    failpoint('pool:before-rename')
    await move(path, to, size)
  }

  /** Moves between the two areas. Does nothing when the blob is over there already, or in neither. */
  async function shift(from: string, to: string): Promise<void> {
    const size = sizeOf(from)
    if (size !== undefined) await move(from, to, size)
  }

  async function* blobs(): AsyncGenerator<{ readonly path: string; readonly digest: Sha256 }> {
    for (const folder of [layout.pool, layout.quarantine]) {
      for await (const path of walk(folder)) {
        const name = basename(path)
        if (/^[0-9a-f]{64}$/.test(name)) yield { path, digest: name as Sha256 }
      }
    }
  }

  return {
    add: file =>
      lock.run(file.blob.sha256, async () => {
        await place(file, layout.blob(file.blob.sha256))
        const held = layout.quarantined(file.blob.sha256)
        if (sizeOf(held) !== undefined) await rm(held, { force: true })
      }),
    quarantine: file =>
      lock.run(file.blob.sha256, async () => {
        if (await refresh(layout.blob(file.blob.sha256), file.blob.size)) return file.discard()
        await place(file, layout.quarantined(file.blob.sha256))
      }),
    release: digest => lock.run(digest, () => shift(layout.quarantined(digest), layout.blob(digest))),
    confine: digest => lock.run(digest, () => shift(layout.blob(digest), layout.quarantined(digest))),
    remove: digest =>
      lock.run(digest, async () => {
        await rm(layout.blob(digest), { force: true })
        await rm(layout.quarantined(digest), { force: true })
      }),
    async has(digest) {
      if (sizeOf(layout.blob(digest)) !== undefined) return 'pool'
      return sizeOf(layout.quarantined(digest)) === undefined ? 'nowhere' : 'quarantine'
    },
    async locate(digest) {
      if (sizeOf(layout.blob(digest)) !== undefined) return layout.blob(digest)
      await access(layout.quarantined(digest))
      return layout.quarantined(digest)
    },
    async sweep(isNeeded, alone = async (_, work) => (await work(), true)) {
      let removed = 0
      for await (const { path, digest } of blobs()) {
        removed += await lock.run(digest, async () => {
          const age = clock.now().getTime() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? Infinity)
          if (age < SPARED_MS || (await isNeeded(digest))) return 0
          let count = 0
          await alone(digest, async () => {
            // it may have been needed since
            if (await isNeeded(digest)) return
            await rm(path, { force: true })
            count = 1
          })
          return count
        })
      }
      return { removed }
    },
  }
}

async function* walk(folder: string): AsyncGenerator<string> {
  let entries: Dirent[]
  try {
    entries = await readdir(folder, { withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* walk(path)
    else yield path
  }
}
