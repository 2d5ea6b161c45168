import type { Blob } from '../core/identity.ts'
import type { SpooledFile } from '../files/spool.ts'

/** A document that a developer clear-signed, and the text under the signature. */
export interface ClearSigned {
  readonly document: string
  readonly text: string
}

/** A file that an announcement names, with its size and digests. */
export interface AnnouncedFile {
  readonly name: string
  readonly size: number
  readonly sha256: string
}

/** The packages of one build, as a developer announces them, and the distribution they are for. */
export interface Announcement {
  /** The source that everything was built from. */
  readonly source: string
  readonly sourceVersion: string
  /** The distribution it is meant for, as the developer wrote it. */
  readonly target: string
  readonly files: readonly AnnouncedFile[]
  /** Absent when it is not signed. */
  readonly clearsigned?: ClearSigned
}

/** Reads the announcements of a format: Debian's .changes. */
export interface Announcements {
  /** Lower case, with the dot. */
  readonly ending: string
  readonly limitBytes: number
  /** The signature is not checked here. @throws bad_package */
  read(bytes: Buffer, filename: string): Announcement
  /** The further files of a package; none when it is one file. @throws bad_package */
  partsOf(file: SpooledFile): Promise<readonly AnnouncedFile[]>
  /**
   * True for a record of the build. It is kept with the source, if the source is in the same upload, and never served.
   */
  isRecord(name: string): boolean
  /** True for a name that may be collected: plain, without a folder. */
  isPlainName(name: string): boolean
  /** Compares a file with what was announced, by every digest there is. @throws bad_package */
  compare(announced: AnnouncedFile, blob: Blob): void
}
