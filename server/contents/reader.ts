import type { Purl } from '../core/purl.ts'
import type { JarEvidence } from './java/coordinates.ts'
import type { Limits } from './limits.ts'

/** What an archive says of a member beside its content. */
export interface EntryFacts {
  readonly type: 'file' | 'hardlink' | 'symlink' | 'char' | 'block' | 'directory' | 'fifo' | 'socket'
  /** The permission bits, where the archive has them. */
  readonly mode?: number
  /** `root:adm`; a number where the archive has no name for it. */
  readonly owner?: string
  /** Of a link: where it leads. */
  readonly link?: string
  /** `cap_net_raw=ep` */
  readonly capabilities?: string
}

/** A file in a package, or in an archive inside it. */
export interface OpenFile {
  /** From the root of the package, without `/` before it; what lies in an archive stands behind `!/`. */
  readonly path: string
  readonly size: number
  /** Its first 512 bytes, or all of it where it is shorter. */
  readonly head: Buffer
  /** Where the archive is a tar or a cpio. */
  readonly entry?: EntryFacts
  /** `length` bytes from `offset` on, fewer at its end. @throws Malformed when the file ends before `offset` */
  read(offset: number, length: number): Promise<Buffer>
  /** @throws Malformed when it has more than `most` bytes */
  whole(most: number): Promise<Buffer>
}

/** A component as a reader finds it. */
export interface Found extends Pick<Purl, 'type' | 'namespace' | 'name' | 'qualifiers'> {
  /** Undefined where the file names the component and not its version. */
  readonly version: string | undefined
  /** `shipped`: the thing itself is in the package. `declared`: a file says that it was wanted. */
  readonly presence: 'shipped' | 'declared'
  /** Which rule of the reader named it: `go-buildinfo`, `pom-properties`, `file-name`. */
  readonly rule: string
  /** `probable`: the file does not say so itself, it follows from names or strings. */
  readonly confidence: 'certain' | 'probable'
  /** Where it differs from the file that was read: an entry of the archive. */
  readonly path?: string
  /**
   * Folders or files of the package, as in `OpenFile.path`: without anything at one of them the component is a
   * leftover, and counts as declared. Where two readers name the same component at the same path, `shipped` wins.
   */
  readonly needs?: readonly string[]
  /** Files of the package: where one of them is there, another reader names the component, and this row is left out. */
  readonly unless?: readonly string[]
  /** Why no advisories are asked about it, in one sentence: `It is the program's own module.` */
  readonly unasked?: string
  /** Vulnerabilities that this copy cannot have, and why, in one sentence: `Its class X is not in this copy.` */
  readonly cleared?: { readonly ids: readonly string[]; readonly why: string }
  /** Of a jar without a pom of its own: what the loaded data are asked with. */
  readonly jar?: JarEvidence
}

/** Something that was not opened, or not to its end: too large, too deep, encrypted, damaged, unknown. */
export interface Unopened {
  readonly path: string
  readonly size: number
  /** One sentence. */
  readonly why: string
}

/** A member of an archive that is no file. */
export interface OtherMember {
  readonly other: string
  readonly entry?: EntryFacts
}

/** What a reader found in one file. */
export interface Reading {
  readonly found: readonly Found[]
  readonly unopened?: readonly Unopened[]
}

/** Reads one kind of file. */
export interface Reader {
  readonly id: string
  /** Whether it reads this file; asks for nothing but what it is given. */
  wants(file: Pick<OpenFile, 'path' | 'size' | 'head'>): boolean
  /** @throws Malformed where the file is damaged: it is then named as unopened */
  read(file: OpenFile): Promise<Reading>
}

/** A file that takes memory or disk until it is closed. */
export interface HeldFile extends OpenFile {
  close(): Promise<void>
}

/** The place where the files of one package are held while they are read, and what they cost so far. */
export interface Room {
  readonly limits: Limits
  /**
   * Passes on what an archive unpacks to, and counts it.
   * @param packed  how many bytes it is unpacked from
   * @throws Malformed where that is a bomb; Spent beyond the limit of the package
   */
  inflate(chunks: AsyncIterable<Buffer>, packed: number): AsyncGenerator<Buffer>
  /**
   * Holds bytes as a file: small ones in memory, others on disk in a file without a name, which no crash leaves behind.
   * @throws Malformed beyond the limit of one file; Spent without room on the disk
   */
  hold(path: string, chunks: AsyncIterable<Buffer>): Promise<HeldFile>
  /** Counts one file more. The same file, which counts what is read of it. @throws Spent from both */
  enter(file: OpenFile): OpenFile
  /** Counts a member that is no file. @throws Spent */
  pass(): void
}

/** Takes an archive apart: each file in it goes through all readers in turn. */
export interface Unpacker {
  readonly id: string
  wants(file: Pick<OpenFile, 'path' | 'size' | 'head'>): boolean
  /**
   * The files in it, each valid until the next is asked for. An encrypted or unreadable one comes as `Unopened`, and
   * what is no file (a folder, a link) by its path alone.
   * @throws Malformed where the archive is damaged: what came before counts, the rest is named as unopened
   */
  files(file: OpenFile, room: Room): AsyncGenerator<OpenFile | Unopened | OtherMember>
}
