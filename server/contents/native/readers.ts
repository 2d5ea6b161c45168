import type { Reader } from '../reader.ts'
import { packageNote } from './package-note.ts'
import { programStrings } from './program-strings.ts'

/** Native programs and libraries. */
export const nativeReaders: readonly Reader[] = [packageNote, programStrings]
