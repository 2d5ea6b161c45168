import { zip } from './archives/zip.ts'
import type { Unpacker } from './reader.ts'

/** Everything that takes archives apart. */
export const UNPACKERS: readonly Unpacker[] = [zip]
