import type { Reader } from '../reader.ts'
import { gemFolder } from './gem-folder.ts'
import { gemfileLock } from './gemfile-lock.ts'
import { gemMetadata, gemspec } from './gemspec.ts'

/** Installed gems, gems that were not unpacked or only copied, and what bundler wants. */
export const rubyReaders: readonly Reader[] = [gemspec, gemMetadata, gemFolder, gemfileLock]
