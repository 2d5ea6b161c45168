import type { Reader } from '../reader.ts'
import type { JavaNames } from './coordinates.ts'
import { createJarReader } from './jar.ts'
import { pomReaders } from './pom-files.ts'

/** @param names  what the loaded data know about Java libraries, asked for once for each archive */
export function createJavaReaders(names: () => Promise<JavaNames>): readonly Reader[] {
  return [createJarReader(names), ...pomReaders]
}
