import type { Reader } from '../reader.ts'
import { condaMeta, condaPackage } from './conda.ts'
import { metadataReaders } from './metadata.ts'
import { pipfileLock, requirements, vendored } from './requirements.ts'
import { tomlLocks } from './toml-locks.ts'
import { wheelLibraries } from './wheel-libraries.ts'

/** Installed Python projects, wheels, eggs and conda packages, and what locks of Python want. */
export const pythonReaders: readonly Reader[] = [
  ...metadataReaders,
  vendored,
  requirements,
  pipfileLock,
  ...tomlLocks,
  condaMeta,
  condaPackage,
  wheelLibraries,
]
