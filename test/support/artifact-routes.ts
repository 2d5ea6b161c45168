import { afterAll, beforeAll, beforeEach } from 'vitest'
import { NOTHING } from '../../server/contents/component.ts'
import { createRebuild } from '../../server/catalog/rebuild.ts'
import { artifacts } from '../../server/features/artifacts/contract.ts'
import { artifactHandlers, type ArtifactDeps } from '../../server/features/artifacts/handlers.ts'
import { createPool } from '../../server/files/pool.ts'
import { getFormat, hasTree } from '../../server/formats/index.ts'
import { repositories } from './repositories.ts'
import { createCaller } from './routes.ts'
import { createStock, type Stock } from './test-catalog.ts'

/** The routes of packages over a catalogue of their own, which is empty before each test. */
export function artifactRoutes(made: (stock: Stock) => void) {
  let stock: Stock
  let deps: ArtifactDeps
  beforeAll(async () => {
    stock = await createStock()
    const { db, catalog, audit } = stock
    deps = {
      db,
      catalog,
      audit,
      formats: getFormat,
      repositories,
      rebuild: createRebuild({ ...stock, hasTree }),
      clientFacts: async () => ({ url: 'http://repo.example:8000' }),
      pool: createPool({ layout: stock.layout, clock: stock.clock }),
      clock: stock.clock,
      contents: { of: async () => NOTHING, known: async () => NOTHING },
    }
    made(stock)
  })
  afterAll(() => stock.close())
  beforeEach(() => stock.clear())
  const { call } = createCaller(artifacts, artifactHandlers, () => deps)
  /** `hello 1.0` of each item of the list. */
  const names = async (query: Record<string, unknown>): Promise<string[]> =>
    (await call('GET /packages/', { query })).items.map(item => `${item.name} ${item.version}`)
  return { call, names }
}
