import { afterAll, beforeAll, beforeEach } from 'vitest'
import { NOTHING } from '../../server/contents/component.ts'
import { createRebuild } from '../../server/catalog/rebuild.ts'
import { artifacts } from '../../server/features/artifacts/contract.ts'
import { artifactHandlers, type ArtifactDeps } from '../../server/features/artifacts/handlers.ts'
import { createPool } from '../../server/files/pool.ts'
import { getFormat, hasTree } from '../../server/formats/index.ts'
import { rebuildWork } from '../../server/features/artifacts/rebuild-work.ts'
import type { WorkKind } from '../../server/core/work.ts'
import type { Worker } from '../../server/work/worker.ts'
import { startWorker } from './jobs.ts'
import { repositories } from './repositories.ts'
import { createCaller } from './routes.ts'
import { createStock, type Stock } from './test-catalog.ts'

/** The routes of packages over a catalogue of their own, which is empty before each test. */
export function artifactRoutes(made: (stock: Stock) => void) {
  let stock: Stock
  let deps: ArtifactDeps
  let worker: Worker
  beforeAll(async () => {
    stock = await createStock()
    const { db, catalog, audit } = stock
    worker = await startWorker(db, [rebuildWork(createRebuild({ ...stock, hasTree }), audit) as WorkKind])
    deps = {
      db,
      catalog,
      audit,
      formats: getFormat,
      repositories,
      jobs: worker,
      clientFacts: async () => ({ url: 'http://repo.example:8000' }),
      pool: createPool({ layout: stock.layout, clock: stock.clock }),
      clock: stock.clock,
      contents: { of: async () => NOTHING, known: async () => NOTHING },
      findElsewhere: async (_, needs) => needs.map(() => 'unknown'),
    }
    made(stock)
  })
  afterAll(async () => {
    await worker.stop()
    await stock.close()
  })
  beforeEach(() => stock.clear())
  const { call } = createCaller(artifacts, artifactHandlers, () => deps)
  /** `hello 1.0` of each item of the list. */
  const names = async (query: Record<string, unknown>): Promise<string[]> =>
    (await call('GET /packages/', { query })).items.map(item => `${item.name} ${item.version}`)
  return { call, names }
}
