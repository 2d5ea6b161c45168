import type { Reader } from '../reader.ts'
import { goBuildInfo } from './build-info.ts'
import { goModReaders } from './go-mod.ts'

/** What programs in Go were built from, and what modules say. */
export const goReaders: readonly Reader[] = [goBuildInfo, ...goModReaders]
