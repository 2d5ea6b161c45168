import type { FormatId } from '../../core/identity.ts'
import type { RemoteFile } from '../../core/remote-file.ts'

/** A version as an upstream lists it. */
export interface RemoteEntry {
  /** As the format writes it in identities. */
  readonly version: string
  readonly arch: string
  /** ISO 8601; absent where the upstream does not say it. */
  readonly published_at?: string
  /** Absent where the index names no files. */
  readonly file?: RemoteFile
  /** What the format shows of it and may change later: `yanked`, `deprecated`. JSON. */
  readonly facts: Readonly<Record<string, unknown>>
  /** Empty where the upstream says none; absent where its index does not say licences. */
  readonly license?: string
  /** Its part of documents about the name, as texts. */
  readonly full_document?: string
  readonly short_document?: string
}

/** What an upstream says of a name. */
export interface RemoteIndex {
  /** Made while it is read: of a large index memory holds one at a time. @throws Malformed as `read` */
  readonly entries: Iterable<RemoteEntry>
  /** What is about the name and no version of it, such as tags, once the entries were read. JSON. */
  about(): Readonly<Record<string, unknown>>
}

/** An index that came, and what was asked. */
export interface IndexAnswer {
  readonly name: string
  /** The address that answered. */
  readonly url: string
  /** Content-Type, in lower case, without parameters. */
  readonly type: string
  readonly bytes: Buffer
}

/** How the index of a name is asked for, and read. One for each format that is read through, in `<id>/remote.ts`. */
export interface RemoteReader {
  readonly format: FormatId
  /**
   * Where the index lies below the upstream's address, such as `/simple/n/`, and which form is wanted. One path for all
   * spellings of a name.
   */
  ask(name: string): { readonly path: string; readonly accept: string }
  /** Runs in a thread: it may take long. @throws Malformed where the answer is no index of this name */
  read(answer: IndexAnswer): RemoteIndex
}
