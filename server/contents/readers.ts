import { dartReaders } from './dart/readers.ts'
import { dotnetReaders } from './dotnet/readers.ts'
import { erlangReaders } from './erlang/readers.ts'
import { githubReaders } from './github/readers.ts'
import { goReaders } from './go/readers.ts'
import { haskellReaders } from './haskell/readers.ts'
import { javaReaders } from './java/readers.ts'
import { nativeReaders } from './native/readers.ts'
import { npmReaders } from './npm/readers.ts'
import { otherReaders } from './others/readers.ts'
import { phpReaders } from './php/readers.ts'
import { pythonReaders } from './python/readers.ts'
import { rReaders } from './r/readers.ts'
import type { Reader } from './reader.ts'
import { rubyReaders } from './ruby/readers.ts'
import { rustReaders } from './rust/readers.ts'
import { sbomFileReaders } from './sbom-files/readers.ts'
import { swiftReaders } from './swift/readers.ts'
import { systemReaders } from './system/readers.ts'

/**
 * To be raised with every change of what a reader or an unpacker finds: contents that were read before are read again.
 */
export const READERS_VERSION = 14

/** Everything that names components in a file. */
export const READERS: readonly Reader[] = [
  ...javaReaders,
  ...systemReaders,
  ...npmReaders,
  ...pythonReaders,
  ...rubyReaders,
  ...phpReaders,
  ...dotnetReaders,
  ...erlangReaders,
  ...rReaders,
  ...goReaders,
  ...rustReaders,
  ...nativeReaders,
  ...dartReaders,
  ...swiftReaders,
  ...haskellReaders,
  ...githubReaders,
  ...otherReaders,
  ...sbomFileReaders,
]
