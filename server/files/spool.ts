import type { Blob } from '../core/identity.ts'

/** A body that has arrived whole and lies under `incoming/`, with its digests. Whoever holds it must `discard` or move it. */
export interface SpooledFile {
  readonly path: string
  /** As the sender named it: for messages only. */
  readonly filename: string
  readonly blob: Blob
  /** The first 512 bytes. */
  readonly head: Uint8Array
  /** Removes the file; harmless when it was moved into the pool. */
  discard(): Promise<void>
}
