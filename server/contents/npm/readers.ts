import type { Reader } from '../reader.ts'
import { banner } from './banner.ts'
import { bunBinaryLock, bunLock } from './bun-lock.ts'
import { copiedPackageJson, packageJson } from './package-json.ts'
import { hiddenLock, packageLock } from './package-lock.ts'
import { pnpmLock } from './pnpm-lock.ts'
import { yarnLock } from './yarn-lock.ts'

/** Installed packages of npm, and the locks of npm, pnpm, yarn and bun. */
export const npmReaders: readonly Reader[] = [
  packageJson,
  copiedPackageJson,
  packageLock,
  hiddenLock,
  pnpmLock,
  yarnLock,
  bunLock,
  bunBinaryLock,
  banner,
]
