import type { Reader } from '../reader.ts'
import { depsJson } from './deps-json.ts'
import { nuspec } from './nuspec.ts'
import { wantedReaders } from './wanted.ts'

/** What published .NET programs say to have, NuGet packages, and what projects want. */
export const dotnetReaders: readonly Reader[] = [depsJson, nuspec, ...wantedReaders]
