import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { getFormat } from '../../formats/index.ts'
import { release } from './contract.ts'
import { releaseHandlers, type ReleaseRouteDeps } from './handlers.ts'

/** The Release fields of a distribution. */
export function composeRelease(needs: Omit<ReleaseRouteDeps, 'knowsWords'>): Feature {
  return {
    routes: bind(release, releaseHandlers, {
      ...needs,
      knowsWords: ({ format }) => getFormat(format).tree?.hasWords === true,
    }),
  }
}
