import type { FormatId } from '../../core/identity.ts'
import { mavenReader } from '../maven/remote.ts'
import { npmReader } from '../npm/remote.ts'
import { pypiReader } from '../pypi/remote.ts'
import type { RemoteReader } from './reader.ts'

/** Every format whose registries are read through by their indexes. A new one is its reader and one line here. */
const READERS: readonly RemoteReader[] = [npmReader, pypiReader, mavenReader]

/** Undefined where registries of the format list nothing that is read ahead. */
export const findReader = (format: FormatId): RemoteReader | undefined => READERS.find(one => one.format === format)
