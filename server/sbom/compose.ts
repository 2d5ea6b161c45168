import { join } from 'node:path'
import type { Manifest } from '../core/manifest.ts'
import type { Repositories } from '../core/repository.ts'
import type { Db } from '../db/db.ts'
import type { Layout } from '../files/layout.ts'
import type { Pool } from '../files/pool.ts'
import { getFormat } from '../formats/index.ts'
import type { Clock } from '../lib/clock.ts'
import { createBills, type Bills } from './bills.ts'
import { createComponents } from './components.ts'
import { mayCarry } from '../catalog/queries/served.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { embeddedOf } from './embedded.ts'
import { CANDIDATE_LINES } from './lockfiles.ts'
import type { EmbeddedPackage } from '../scanners/scanner.ts'

export interface SbomNeeds {
  readonly db: Db
  readonly layout: Layout
  readonly pool: Pool
  readonly clock: Clock
  readonly repositories: Pick<Repositories, 'get'>
  /** The version of this program, for the documents. */
  readonly version: string
}

/** What packages carry inside. */
export interface SbomPart {
  readonly bills: Bills
  /** The libraries that advisories can be asked about, for a package with or without its list of paths. */
  carried(
    known: Pick<Manifest, 'ref' | 'files'> & Partial<Pick<Manifest, 'paths'>>,
  ): Promise<readonly EmbeddedPackage[]>
}

/** What packages carry, and the bills of materials over it. */
export function composeSbom({ layout, pool, db, clock, repositories, version }: SbomNeeds): SbomPart {
  const components = createComponents({ pool, formats: getFormat, folder: join(layout.security, 'components') })
  return {
    carried: async known =>
      embeddedOf(
        (
          await components.of(
            known,
            known.paths ?? (await mayCarry(db, ALL_SEEING, { ...known.ref, candidates: CANDIDATE_LINES })),
          )
        ).components,
      ),
    bills: createBills({ db, clock, components, formats: getFormat, repositories, tool: version }),
  }
}
