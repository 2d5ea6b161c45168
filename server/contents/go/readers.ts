import type { Reader } from '../reader.ts'
import { goBuildInfo } from './build-info.ts'

/** What programs in Go were built from. */
export const goReaders: readonly Reader[] = [goBuildInfo]
