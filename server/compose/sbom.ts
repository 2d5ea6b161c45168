import { createSeenDb } from '../db/seen.ts'
import { join } from 'node:path'
import type { Manifest } from '../core/manifest.ts'
import type { Env } from '../env.ts'
import { getFormat } from '../formats/index.ts'
import { createBills, type Bills } from '../sbom/bills.ts'
import { createComponents } from '../sbom/components.ts'
import { embeddedOf, mayCarry } from '../sbom/embedded.ts'
import type { EmbeddedPackage } from '../scanners/scanner.ts'
import type { Foundation } from './foundation.ts'

export interface Sbom {
  readonly bills: Bills
  /** The libraries that advisories can be asked about, of a package with or without its list of paths. */
  carried(
    known: Pick<Manifest, 'ref' | 'files'> & Partial<Pick<Manifest, 'paths'>>,
  ): Promise<readonly EmbeddedPackage[]>
}

/** What packages carry, and the bills of materials over it. */
export function composeSbom(env: Env, { layout, pool, db, clock }: Foundation): Sbom {
  const components = createComponents({ pool, formats: getFormat, folder: join(layout.security, 'components') })
  return {
    carried: async known =>
      embeddedOf((await components.of(known, known.paths ?? (await mayCarry(db, known.ref)))).components),
    bills: createBills({ db: createSeenDb(db), clock, components, formats: getFormat, tool: env.version }),
  }
}
