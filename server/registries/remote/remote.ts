import type { Actor } from '../../catalog/change.ts'
import { fail, isRefusal } from '../../core/errors.ts'
import type { Manifest } from '../../core/manifest.ts'
import type { Distribution } from '../../core/repository.ts'
import type { SecretBox } from '../../lib/secret-box.ts'
import { createBreaker } from '../../outbound/exchange/breaker.ts'
import type { Exchange } from '../../outbound/exchange/exchange.ts'
import type { RegistryDeps } from '../deps.ts'
import { noteUnanswered } from '../../catalog/queries/remote-unanswered.ts'
import { createKnownLookalikes, needForeign as needForeignName } from '../owned.ts'
import { createBring, type Wanted, type WantedOtherwise } from './bring.ts'
import { createFlights } from './flights.ts'
import { createFreshness, type Freshness } from './freshness.ts'
import { createJudge } from './judge.ts'
import { createRemoteNames, type FindOptions, type KnownName } from './names.ts'
import { createIndexReading } from './read-index.ts'
import { listRemote, type DocumentForm, type RemoteRow } from '../../catalog/queries/remote-versions.ts'
import { createUpstream, type Upstream } from './upstream.ts'

/** A name of an upstream, judged. */
export interface RemoteName extends Pick<KnownName, 'about' | 'checked_at' | 'stale'> {
  readonly name: string
  /** What its visible versions follow from; another one whenever a document about the name may differ. */
  readonly mark: string
}

/** Registries that read through to others. */
export interface Remote {
  /**
   * A name, as the upstream has it now or had it within the last 7 days.
   * @param options.anyAge  whenever it had it: for a file that the caller names exactly
   * @returns undefined where it has no such name
   * @throws name_is_ours before anything is asked; outbound_failed, outbound_refused, upstream_refused where nothing
   * is known
   */
  find(registry: Distribution, name: string, options?: FindOptions): Promise<RemoteName | undefined>
  /**
   * Whether a name may be looked up outside, for what `find` does not ask; that it may not is noted.
   * @throws name_is_ours
   */
  needForeign(registry: Distribution, name: string): Promise<void>
  /** Its versions, oldest first by the order of the format. @param options.version  that one alone, or those */
  rows(
    registry: Distribution,
    name: string,
    options?: { readonly form?: DocumentForm; readonly version?: string | readonly string[] },
  ): Promise<readonly RemoteRow[]>
  /** @throws remote_not_here_yet where that takes longer than `patienceMs`; what `Bring.bring` throws */
  bring(
    registry: Distribution,
    wanted: Wanted | WantedOtherwise,
    by: { readonly actor: Actor; readonly patienceMs: number },
  ): Promise<Manifest>
  /** For what no index says. */
  readonly upstream: Upstream
  readonly freshness: Freshness
  close(): Promise<void>
}

export interface RemoteDeps extends RegistryDeps {
  readonly exchange: Exchange
  readonly box: SecretBox
}

/** A person waits for each request, so an upstream that fails rests for less than repositories do. */
const RESTS_MS = [30_000, 60_000, 300_000] as const

/** Makes the one way to the registries of others. */
export function createRemote(deps: RemoteDeps): Remote {
  const { db } = deps
  const upstream = createUpstream({ ...deps, breaker: createBreaker(deps.clock, RESTS_MS) })
  const flights = createFlights()
  const freshness = createFreshness({ ...deps, flights })
  const names = createRemoteNames({ ...deps, upstream, freshness, reading: createIndexReading() })
  const lookalikes = createKnownLookalikes(deps)
  const judge = createJudge({ ...deps, flights, lookalikes })
  const bringing = createBring({ ...deps, upstream, flights, lookalikes })
  const needForeign: Remote['needForeign'] = async ({ codename, format }, name) => {
    try {
      await needForeignName(deps, { format, name })
    } catch (error) {
      if (isRefusal(error, 'name_is_ours'))
        await noteUnanswered(db, { codename, name }, { outcome: 'reserved', now: deps.clock.now() })
      throw error
    }
  }
  return {
    upstream,
    freshness,
    needForeign,
    async find(registry, name, options) {
      // before anything is asked outside
      await needForeign(registry, name)
      const known = await names.find(registry, name, options)
      if (known === undefined) return undefined
      const mark = await judge.settle(registry, name, known)
      const { about, checked_at, stale, is_missing: isMissing } = known
      // what is here of a name that its upstream no longer has is served on
      if (
        isMissing &&
        (await listRemote(db, { codename: registry.codename, name }, { format: registry.format })).length === 0
      )
        return undefined
      return { name, about, checked_at, mark, ...(stale === undefined ? {} : { stale }) }
    },
    rows: ({ codename, format }, name, options = {}) => listRemote(db, { codename, name }, { format, ...options }),
    async bring(registry, wanted, by) {
      const found = await bringing.bring(registry, wanted, by)
      const { name, version } = wanted.ref
      return found ?? fail('remote_not_here_yet', { name, version, retry_after: 5 })
    },
    async close() {
      await flights.close()
      await names.close()
    },
  }
}

/** What clients get of a version. */
export type Visible =
  | { readonly is: 'served' }
  /** Its package here waits or was refused. */
  | { readonly is: 'held'; readonly manifest: NonNullable<RemoteRow['held']> }
  /** By the index; `mayAsk`: by its exact file it comes in all the same, for a review. */
  | { readonly is: 'hidden'; readonly said: string; readonly mayAsk: boolean }

/** Whether clients get a version now. A person's approval of what is here counts, but for malicious code. */
export function visibleOf({ hidden, said, ripe_at: ripe, state, held }: RemoteRow, now: Date): Visible {
  const isRipe = hidden === 'young' && ripe !== null && ripe <= now
  if (hidden === 'malicious') return { is: 'hidden', said: said ?? '', mayAsk: false }
  if (state === 'published') return { is: 'served' }
  if (held !== null) return { is: 'held', manifest: held }
  if (hidden === null || isRipe) return { is: 'served' }
  return { is: 'hidden', said: said ?? '', mayAsk: hidden === 'review' || hidden === 'lookalike' }
}

/** The first moment at which another version comes of age; undefined where none does. */
export const nextRipe = (rows: readonly RemoteRow[], now: Date): Date | undefined =>
  rows
    .flatMap(({ hidden, ripe_at: ripe, state }) =>
      hidden === 'young' && state === null && ripe !== null && ripe > now ? [ripe] : [],
    )
    .toSorted((a, b) => a.getTime() - b.getTime())[0]

/** Whether a registry reads through to another. */
export const isProxy = ({ registry }: Pick<Distribution, 'registry'>): boolean => registry?.kind === 'proxy'

/** What a document says whose upstream could not be asked. Source: RFC 7234, 5.5.1 */
export const staleHeaders = ({ stale }: Pick<RemoteName, 'stale'>): Readonly<Record<string, string>> =>
  stale === undefined ? {} : { Warning: '110 - "Response is Stale"' }
