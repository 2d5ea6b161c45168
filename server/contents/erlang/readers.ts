import type { Reader } from '../reader.ts'
import { application } from './application.ts'
import { hexMetadata, mixLock, rebarLock } from './locks.ts'

/** Applications of Erlang and Elixir, and what their locks want. */
export const erlangReaders: readonly Reader[] = [application, hexMetadata, mixLock, rebarLock]
