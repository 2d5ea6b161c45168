import type { Reader } from '../reader.ts'
import { innerPackages } from './inner-packages.ts'
import { otherInstalled } from './installed.ts'
import { otherLocks } from './lock-files.ts'

/** Package managers with one or two kinds of file. */
export const otherReaders: readonly Reader[] = [...otherInstalled, ...innerPackages, ...otherLocks]
