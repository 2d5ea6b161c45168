import type { Reader } from '../reader.ts'
import { gemfileLock } from './gemfile-lock.ts'
import { gemMetadata, gemspec } from './gemspec.ts'

/** Installed gems, gems that were not unpacked, and what bundler wants. */
export const rubyReaders: readonly Reader[] = [gemspec, gemMetadata, gemfileLock]
