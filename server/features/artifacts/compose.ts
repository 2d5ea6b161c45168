import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Db } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import { formatsIn } from '../../formats/index.ts'
import { artifacts } from './contract.ts'
import { artifactVersions } from './versions-contract.ts'
import { artifactHandlers, versionHandlers, type ArtifactDeps } from './handlers.ts'

/** Packages: search, detail, download, delete. */
export function composeArtifacts({
  db,
  formats,
  ...deps
}: Omit<ArtifactDeps, 'db' | 'formats'> & { readonly db: Db; readonly formats: readonly Format[] }): Feature {
  const all = { ...deps, db, formats: formatsIn(formats) }
  return { routes: [...bind(artifacts, artifactHandlers, all), ...bind(artifactVersions, versionHandlers, all)] }
}
