import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { logs } from './contract.ts'
import { logHandlers } from './handlers.ts'
import { createSources, type SourcesDeps } from './sources.ts'

/** The logs. */
export function composeLogs(needs: SourcesDeps): Feature {
  return { routes: bind(logs, logHandlers, { sources: createSources(needs) }) }
}
