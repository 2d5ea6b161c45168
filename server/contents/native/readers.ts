import type { Reader } from '../reader.ts'
import { programStrings } from './program-strings.ts'

/** Native programs and libraries. */
export const nativeReaders: readonly Reader[] = [programStrings]
