import type { Reader } from '../reader.ts'
import { composerLock, installedJson, installedPhp } from './composer.ts'

/** What Composer installed, and what it wants. */
export const phpReaders: readonly Reader[] = [installedJson, installedPhp, composerLock]
