import type { Reader } from '../reader.ts'
import { jarReader } from './jar.ts'
import { log4jClass } from './log4j-class.ts'
import { pomReaders } from './pom-files.ts'

/** Readers of Java archives and of Maven's files. */
export const javaReaders: readonly Reader[] = [jarReader, log4jClass, ...pomReaders]
