import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Db } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import { formatsIn } from '../../formats/index.ts'
import type { Rebuild } from '../../catalog/rebuild.ts'
import type { Jobs, WorkKind } from '../../core/work.ts'
import { rebuildWork } from './rebuild-work.ts'
import { artifacts } from './contract.ts'
import { artifactVersions } from './versions-contract.ts'
import { artifactHandlers, versionHandlers, type ArtifactDeps } from './handlers.ts'

export interface ArtifactNeeds extends Omit<ArtifactDeps, 'db' | 'formats' | 'jobs'> {
  readonly db: Db
  readonly formats: readonly Format[]
  readonly rebuild: Rebuild
  readonly worker: Jobs
}

/** Packages: search, detail, download, delete. */
export function composeArtifacts({ db, formats, rebuild, worker, ...deps }: ArtifactNeeds): Feature {
  const all = { ...deps, db, jobs: worker, formats: formatsIn(formats) }
  return {
    work: [rebuildWork(rebuild, deps.audit) as WorkKind],
    routes: [...bind(artifacts, artifactHandlers, all), ...bind(artifactVersions, versionHandlers, all)],
  }
}
