/** A file on a target. */
export interface Kept {
  /** Below the target's root: `blobs/ab/abcd…`. */
  readonly key: string
  readonly sizeBytes: number
  /** By the target's own clock. */
  readonly modifiedAt: Date
}

/** A place that keeps files by name: a directory, or a bucket. All methods throw TargetTrouble. */
export interface TargetStore {
  /** What people call it, without any secret: `/mnt/usb`, `https://s3.example/bucket/prefix`. */
  readonly address: string
  /** All files whose key begins with `prefix`, which ends in a slash; unfinished ones are not listed. */
  list(prefix: string, signal: AbortSignal): AsyncIterable<Kept>
  /** Undefined where there is no such file. A piece is used up before the next one is asked for. */
  read(key: string, signal: AbortSignal): Promise<AsyncIterable<Buffer> | undefined>
  /**
   * Writes a file, there wholly or not at all: where `body` throws, nothing is left. What is there already is replaced.
   * It lasts once `settle` has been called. A piece is used up before the next one is asked for.
   */
  put(key: string, body: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void>
  /** Makes all that was put last through a power cut. */
  settle(): Promise<void>
  /** Removes a file; one that is not there is none to remove. */
  remove(key: string, signal: AbortSignal): Promise<void>
  /** The target's own clock: that of this machine may be another. */
  now(signal: AbortSignal): Promise<Date>
  /** Bytes that are free; undefined where nobody knows. */
  free(): Promise<number | undefined>
  /** Removes what was begun before that moment and never finished. */
  sweepUnfinished(before: Date, signal: AbortSignal): Promise<void>
  close(): void
}

/** What is wrong with a target, in words for whoever runs the service, with the way out. Holds no secret. */
export class TargetTrouble extends Error {
  /** Whether another attempt may go better. */
  readonly isPassing: boolean

  constructor(message: string, { cause, isPassing = false }: { cause?: unknown; isPassing?: boolean } = {}) {
    super(message, cause === undefined ? {} : { cause })
    this.name = 'TargetTrouble'
    this.isPassing = isPassing
  }
}

/** All bytes of a small file. @throws TargetTrouble where there are more than `most` */
export async function readAll(body: AsyncIterable<Buffer>, most: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > most) throw new TargetTrouble('A file on the target is larger than this service writes it.')
    chunks.push(Buffer.from(chunk)) // the next one may take its place
  }
  return Buffer.concat(chunks, size)
}

export async function* bytesOf(...pieces: readonly (Buffer | string)[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) yield Buffer.from(piece)
}
