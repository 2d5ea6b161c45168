import { createFileLists, type FileListsDeps } from '../../contents/file-lists.ts'
import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Db } from '../../db/db.ts'
import type { Layout } from '../../files/layout.ts'
import { comparison } from './contract.ts'
import { comparisonHandlers, type ComparisonDeps } from './handlers.ts'

export interface ComparisonNeeds extends Pick<ComparisonDeps, 'contents'>, Pick<FileListsDeps, 'pool'> {
  readonly db: Db
  readonly layout: Pick<Layout, 'incoming'>
}

/** Two versions of a package side by side. */
export function composeComparison({ db, contents, pool, layout }: ComparisonNeeds): Feature {
  const fileLists = createFileLists({ pool, incoming: layout.incoming })
  return { routes: bind(comparison, comparisonHandlers, { db, contents, fileLists }) }
}
