import type { SpooledFile } from '../files/spool.ts'
import type { Unpacked } from '../files/unpacked.ts'
import type { Format } from '../formats/format.ts'
import type { Contents } from './component.ts'
import { LIMITS } from './limits.ts'
import { READERS } from './readers.ts'
import { createRoom } from './room.ts'
import { UNPACKERS } from './unpackers.ts'
import { walk, type Tries } from './walk.ts'

/** A package whose bytes are at hand. */
export interface Bytes {
  readonly format: Pick<Format, 'inner'>
  readonly file: SpooledFile
  readonly unpacked?: Pick<Unpacked, 'read'> | undefined
}

export interface ReadOptions {
  /** Where files that are too large for memory are held. */
  readonly incoming: string
  readonly signal: AbortSignal
  readonly limits?: typeof LIMITS
  readonly readers?: typeof READERS
  readonly tries?: Tries
  /** Called again and again while reading goes on. */
  readonly onStep?: () => void
}

/** Reads a package in this thread. */
export function readContents(
  { format, file, unpacked }: Bytes,
  { incoming, signal, limits = LIMITS, readers = READERS, tries, onStep }: ReadOptions,
): Promise<Contents> {
  return walk(format.inner(file, unpacked), {
    readers,
    unpackers: UNPACKERS,
    room: createRoom(incoming, limits, onStep),
    signal,
    ...(tries === undefined ? {} : { tries }),
  })
}
