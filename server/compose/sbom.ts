import { join } from 'node:path'
import type { Env } from '../env.ts'
import { getFormat } from '../formats/index.ts'
import { createBills, type Bills } from '../sbom/bills.ts'
import { createComponents, type Components } from '../sbom/components.ts'
import type { Foundation } from './foundation.ts'

/** What packages carry, and the bills of materials over it. */
export function composeSbom(env: Env, { layout, pool, db, clock }: Foundation): { readonly components: Components; readonly bills: Bills } {
  const components = createComponents({ pool, formats: getFormat, folder: join(layout.security, 'components') })
  return { components, bills: createBills({ db, clock, components, formats: getFormat, tool: env.version }) }
}
