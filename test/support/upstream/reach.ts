import { createAgents } from '../../../server/outbound/exchange/agents.ts'
import { createBreaker } from '../../../server/outbound/exchange/breaker.ts'
import { createBucket } from '../../../server/outbound/exchange/bucket.ts'
import { createExchange, type Exchange } from '../../../server/outbound/exchange/exchange.ts'
import { PATIENCE } from '../../../server/outbound/exchange/patience.ts'
import { createReach, type Reach } from '../../../server/imports/reach/reach.ts'
import { createHostGuard } from '../../../server/outbound/guard.ts'

/** The product's client of other servers, for one on this machine. */
export function createTestExchange(): { readonly exchange: Exchange; close(): void } {
  const allow = (): string => '127.0.0.1'
  const agents = createAgents(() => ({ url: '', except: '' }))
  const exchange = createExchange({
    guard: createHostGuard({ lookup: () => Promise.resolve([]), allow }),
    agents,
    bucket: createBucket({ bytesPerSecond: () => 0 }),
    patience: PATIENCE,
    userAgent: 'test',
    ownAddresses: () => [],
    allow,
  })
  return { exchange, close: () => agents.close() }
}

/** The product's way to other repositories, for an upstream on this machine: it waits for nothing between tries. */
export function createTestReach({
  treeRoots = [],
  now = () => new Date(),
}: { readonly treeRoots?: readonly string[]; readonly now?: () => Date } = {}): {
  readonly reach: Reach
  close(): void
} {
  const { exchange, close } = createTestExchange()
  const reach = createReach({
    exchange,
    breaker: createBreaker({ now }),
    sleep: () => Promise.resolve(),
    treeRoots: () => treeRoots,
  })
  return { reach, close }
}
