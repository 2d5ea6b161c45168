import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { searchArtifacts, searchPackages } from '../../server/catalog/queries/search.ts'
import { ALL_SEEING } from '../../server/core/viewer.ts'
import { createDb } from '../../server/db/db.ts'
import { startEmbedded } from '../../server/db/embedded.ts'
import { migrate } from '../../server/db/migrate.ts'
import { fillIndex } from './fill.ts'

/** Terms of one, two, three and more characters; common, rare, absent, and with wildcards taken as themselves. */
const TERMS = [
  '',
  'a',
  'z',
  'ss',
  'qx',
  'ssl',
  'lib',
  'python3-',
  'libssl-curl',
  'nothing-like-it',
  '%',
  'a_b',
  'shared library',
]
const BUDGET_MS = 50
const ROUNDS = 7

/** One measured search: the median of several, page and count together, seen from the process over the socket. */
export interface SearchTime {
  readonly list: string
  readonly term: string
  readonly total: number
  readonly medianMs: number
  readonly worstMs: number
}

/**
 * Measures searching 100,000 artifacts in an embedded PostgreSQL of its own, which is gone afterwards. Takes half a
 * minute.
 */
async function benchSearch(artifacts = 100_000): Promise<readonly SearchTime[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-bench-search-'))
  const cluster = await startEmbedded({ folder: join(folder, 'data'), durable: false })
  const db = createDb(cluster)
  try {
    await migrate(db)
    await fillIndex(db, { artifacts, versionsEach: 1 })
    const times: SearchTime[] = []
    const lists = {
      '/artifacts/': (q: string) =>
        searchArtifacts(db, ALL_SEEING, { filter: { q }, paging: { page: 1, perPage: 50 } }),
      '/packages/': (q: string) =>
        searchPackages(db, ALL_SEEING, {
          filter: { q, states: ['published', 'pending_review'] },
          paging: { page: 1, perPage: 50 },
        }),
    }
    for (const [list, search] of Object.entries(lists)) {
      for (const term of TERMS) {
        const ms: number[] = []
        let total = 0
        for (let round = 0; round < ROUNDS; round++) {
          const start = performance.now()
          total = (await search(term)).total
          ms.push(performance.now() - start)
        }
        ms.sort((a, b) => a - b)
        times.push({ list, term, total, medianMs: ms[Math.floor(ROUNDS / 2)] ?? 0, worstMs: ms.at(-1) ?? 0 })
      }
    }
    return times
  } finally {
    await db.close()
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** `npm run bench search`: one line a term; false past the budget of 50 ms for `/artifacts/`. */
export async function run(args: readonly string[]): Promise<boolean> {
  const times = await benchSearch(Number(args[0] ?? 100_000))
  for (const { list, term, total, medianMs, worstMs } of times) {
    const what = `${list.padEnd(12)} ${JSON.stringify(term).padEnd(20)} ${String(total).padStart(7)} found`
    console.log(`${what}  ${medianMs.toFixed(1).padStart(6)} ms median  ${worstMs.toFixed(1).padStart(6)} ms worst`)
  }
  const worst = Math.max(...times.filter(time => time.list === '/artifacts/').map(time => time.medianMs))
  const kept = worst <= BUDGET_MS
  console.log(
    `search: slowest median ${worst.toFixed(1)} ms of ${BUDGET_MS} ms over ${args[0] ?? '100000'} artifacts: ${
      kept ? 'within budget' : 'TOO SLOW'
    }`,
  )
  return kept
}
