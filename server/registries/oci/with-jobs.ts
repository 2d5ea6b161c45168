import type { Job } from '../../core/feature.ts'
import type { RegistryProtocol } from '../protocol.ts'
import { collectJob } from './collect.ts'
import type { OciDeps } from './deps.ts'
import { createOci } from './index.ts'
import { createUploads } from './uploads.ts'

/** The protocol of container registries, and the collection of what no manifest names. */
export function createOciWithJobs(deps: OciDeps): {
  readonly protocol: RegistryProtocol
  readonly jobs: readonly Job[]
} {
  const uploads = createUploads(deps)
  return { protocol: createOci(deps, uploads), jobs: [collectJob(deps, uploads)] }
}
