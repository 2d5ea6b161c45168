import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { consoleReleases } from './contract.ts'
import { consoleReleaseHandlers, type ConsoleReleaseDeps } from './handlers.ts'

/** What the desktop program is updated from. */
export function composeConsoleReleases(needs: ConsoleReleaseDeps): Feature {
  return { routes: bind(consoleReleases, consoleReleaseHandlers, needs) }
}
