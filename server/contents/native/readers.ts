import type { Reader } from '../reader.ts'
import { javaRelease } from './java-release.ts'
import { packedProgram } from './packed.ts'
import { packageNote } from './package-note.ts'
import { peVersion } from './pe-version.ts'
import { programStrings } from './program-strings.ts'

/** Native programs and libraries, and Java runtimes. */
export const nativeReaders: readonly Reader[] = [packedProgram, packageNote, peVersion, programStrings, javaRelease]
