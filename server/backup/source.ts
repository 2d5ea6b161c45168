import { stat } from 'node:fs/promises'
import type { About } from './archive-manifest.ts'
import { readAbout, readArchive, type ReadArchive } from './archive-reader.ts'

export interface ReadOptions {
  readonly passphrase: string
  /** Where members are written; undefined: they are only read. */
  readonly to?: string
  readonly signal: AbortSignal
  readonly told?: (files: number, bytes: number) => void
}

/** Where a backup is read from: an archive on this disk, or a snapshot on a target. */
export interface BackupSource {
  /** About how many bytes lie on the disk once it is read. */
  sizeBytes(passphrase: string): Promise<number>
  /** What it says of itself, without reading its files. @throws BadArchive */
  about(passphrase: string, signal: AbortSignal): Promise<About>
  /**
   * Reads all of it and compares each member with the manifest.
   * @throws BadArchive, and the errors of the disk; then `to` holds a part
   */
  read(options: ReadOptions): Promise<ReadArchive>
}

/** An archive in a file. */
export const archiveSource = (path: string): BackupSource => ({
  sizeBytes: async () => (await stat(path)).size,
  about: (passphrase, signal) => readAbout(path, passphrase, signal),
  read: options => readArchive(path, options),
})
