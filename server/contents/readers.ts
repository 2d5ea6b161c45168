import { dotnetReaders } from './dotnet/readers.ts'
import { javaReaders } from './jar.ts'
import { lockfileReaders } from './lockfiles.ts'
import { npmReaders } from './npm/readers.ts'
import { phpReaders } from './php/readers.ts'
import { pythonReaders } from './python/readers.ts'
import type { Reader } from './reader.ts'
import { rubyReaders } from './ruby/readers.ts'

/**
 * To be raised with every change of what a reader or an unpacker finds: contents that were read before are read again.
 */
export const READERS_VERSION = 1

/** Everything that names components in a file. */
export const READERS: readonly Reader[] = [
  ...javaReaders,
  ...npmReaders,
  ...pythonReaders,
  ...rubyReaders,
  ...phpReaders,
  ...dotnetReaders,
  ...lockfileReaders,
]
