import type { Blob } from '../core/identity.ts'
import type { SpooledFile } from '../files/spool.ts'

/** A clear-signed document, and what its reader took out of it; signed by a developer, not by a repository. */
export interface ClearSigned {
  readonly document: string
  readonly text: string
}

/** A file that somebody announces, with what it will be. */
export interface AnnouncedFile {
  readonly name: string
  readonly size: number
  readonly sha256: string
}

/** What a developer sends together: the packages of one build, and where they should go. */
export interface Announcement {
  /** The source that everything was built from. */
  readonly source: string
  readonly sourceVersion: string
  /** The distribution it is meant for, as the developer wrote it. */
  readonly target: string
  readonly files: readonly AnnouncedFile[]
  /** Absent where nobody signed it. */
  readonly clearsigned?: ClearSigned
}

/** How developers of a format say what belongs together: Debian's .changes. */
export interface Announcements {
  /** Lower case, with the dot. */
  readonly ending: string
  readonly limitBytes: number
  /** The signature is not checked here. @throws bad_package */
  read(bytes: Buffer, filename: string): Announcement
  /** The files that a package needs beside it; none where it is one file. @throws bad_package */
  partsOf(file: SpooledFile): Promise<readonly AnnouncedFile[]>
  /** True for a file that tells of the build: kept beside the source, where that is sent too, and never served. */
  isRecord(name: string): boolean
  /** True for a name that may be collected: plain, without a folder. */
  isPlainName(name: string): boolean
  /** Compares a file with what was announced, by every digest there is. @throws bad_package */
  compare(announced: AnnouncedFile, blob: Blob): void
}
