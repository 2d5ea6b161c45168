import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../core/errors.ts'
import type { Part } from '../core/feature.ts'
import type { FormatId } from '../core/identity.ts'
import type { Db } from '../db/db.ts'
import type { Layout } from '../files/layout.ts'
import { getFormat } from '../formats/index.ts'
import type { UpstreamReader } from '../formats/upstream.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { createHostGuard } from '../outbound/guard.ts'
import { createResolver } from '../outbound/resolver.ts'
import type { Settings } from '../settings/store.ts'
import type { JudgeRoots } from './catalogue/reach.ts'
import { createAgents } from '../outbound/exchange/agents.ts'
import { createBreaker } from '../outbound/exchange/breaker.ts'
import { createBucket } from '../outbound/exchange/bucket.ts'
import { createExchange, type Exchange } from '../outbound/exchange/exchange.ts'
import { PATIENCE } from '../outbound/exchange/patience.ts'
import { createReach, type Reach } from './reach/reach.ts'
import { readInThread } from './catalogue/reading.ts'
import { createSyncMany, type SyncMany } from './catalogue/sync-many.ts'
import { createSync } from './catalogue/sync.ts'
import { createReadingTurns } from './catalogue/turns.ts'
import type { Source } from './source.ts'
import { createSourceStore, type SourceStore } from './sources/store.ts'
import { createFetchPackage, type FetchPackage } from './trust/fetch-package.ts'
import { createJudge } from './trust/judge.ts'
import { createKeyStore, type KeyStore } from './trust/key-store.ts'

/** Repositories of others: reaching them, and trusting them. */
export interface UpstreamsPart extends Part {
  /** For registries of others. */
  readonly exchange: Exchange
  readonly reach: Reach
  readonly keys: KeyStore
  readonly sources: SourceStore
  readonly judge: JudgeRoots
  /** Fetches package files: what stands between a source and the gate. */
  readonly fetchPackage: FetchPackage
  /** Every source; `enabled` says whether it takes part. */
  listSources(): Promise<readonly Source[]>
  findSource(id: number): Promise<Source | undefined>
  readonly syncMany: SyncMany
  /** Writes the keys and the sources that come with the product. */
  settle(): Promise<void>
}

export interface UpstreamsNeeds {
  readonly db: Db
  readonly clock: Clock
  readonly settings: Settings
  /** The version of this program, sent with each request. */
  readonly version: string
  /** IMPORT_ROOTS: directories below which repositories on media may lie. */
  readonly importRoots: readonly string[]
  readonly layout: Pick<Layout, 'imports'>
  readonly log: Pick<Log, 'error'>
}

/** The proxy with its credentials, as Node's agents take it. */
function proxyOf({
  proxy_url: text,
  proxy_user: user,
  proxy_password: password,
}: ReturnType<Settings['now']>['import']) {
  if (text === '' || user === '') return text
  const url = new URL(text)
  url.username = encodeURIComponent(user)
  url.password = encodeURIComponent(password)
  return url.href
}

const ownAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap(list => (list ?? []).map(({ address }) => address))

export function composeUpstreams(needs: UpstreamsNeeds): UpstreamsPart {
  const { db, clock, settings, version, importRoots, layout, log } = needs
  const now = (): ReturnType<Settings['now']>['import'] => settings.now().import
  const allow = (): string => settings.now().notifications.allow_private_hosts
  const agents = createAgents(() => ({ url: proxyOf(now()), except: now().proxy_except }))
  const exchange = createExchange({
    guard: createHostGuard({ lookup: createResolver(clock), allow }),
    agents,
    bucket: createBucket({ bytesPerSecond: () => now().max_kb_per_second * 1000 }),
    patience: PATIENCE,
    userAgent: `Gatehouse/${version}`,
    ownAddresses,
    allow,
  })
  const breaker = createBreaker(clock)
  const reach = createReach({
    exchange,
    breaker,
    sleep: async (ms, signal) => sleep(ms, undefined, { signal }),
    treeRoots: () => importRoots,
  })
  const keys = createKeyStore({ db, clock })
  const sources = createSourceStore({ db, clock, switches: () => settings.now().sources })
  const judge = createJudge(db)
  const readerOf = (format: FormatId): UpstreamReader =>
    getFormat(format).upstream ?? fail('import_no_tree', { codename: format, format })
  const sync = createSync({
    ...{ db, clock, log, reach, judge, readerOf },
    incoming: layout.imports,
    keysFor: keys.keysFor,
    read: readInThread,
    turns: createReadingTurns(format => readerOf(format).atOnce ?? 1),
  })
  const listSources = async (): Promise<readonly Source[]> => (await sources.list()).map(({ source }) => source)
  return {
    exchange,
    reach,
    keys,
    sources,
    fetchPackage: createFetchPackage({ reach, keysFor: keys.keysFor }),
    judge,
    listSources,
    findSource: async id => (await listSources()).find(source => source.id === id),
    syncMany: createSyncMany(sync),
    async settle() {
      await keys.settle()
      await sources.settle()
    },
    stop: () => agents.close(),
  }
}
