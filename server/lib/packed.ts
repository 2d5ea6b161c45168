/** How a part of a file is compressed. */
export type Compression = 'none' | 'gzip' | 'xz' | 'zstd' | 'bzip2' | 'lzma'

/** A compressed part of a file. `chunks` may be called more than once and reads only on demand. */
export interface Packed {
  /** The name of the part in messages: `data.tar.xz`. */
  readonly what: string
  readonly compression: Compression
  readonly size: number
  /** Where the bytes lie, unless somebody has to see them pass. */
  readonly place?: { readonly path: string; readonly offset: number }
  chunks(): AsyncGenerator<Buffer>
}
