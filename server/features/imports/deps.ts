import type { Catalog } from '../../catalog/catalog.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Jobs } from '../../core/work.ts'
import type { Db } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import type { ForecastFor } from '../../imports/run/forecast.ts'
import type { LookUp } from '../../imports/run/look-up.ts'
import type { Planner } from '../../imports/run/plan.ts'
import type { Source } from '../../imports/source.ts'
import type { Audit } from '../../record/audit.ts'
import type { Worker } from '../../work/worker.ts'

/** What the routes of imports need. */
export interface ImportRouteDeps {
  readonly db: Db
  readonly catalog: Pick<Catalog, 'change'>
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly planner: Planner
  readonly lookUp: LookUp
  readonly forecast: ForecastFor
  readonly findSource: (id: number) => Promise<Source | undefined>
  readonly formatOf: (id: Format['id']) => Format
  readonly worker: Jobs & Pick<Worker, 'onMoved'>
  readonly audit: Pick<Audit, 'record'>
}
