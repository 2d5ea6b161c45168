import { fail } from '../../core/errors.ts'
import type { Codename, FormatId } from '../../core/identity.ts'
import type { SeenRepositories } from '../../core/repository.ts'
import type { Format } from '../../formats/format.ts'
import { siteOf } from '../../formats/index.ts'
import type { Audit } from '../../record/audit.ts'
import type { GenerationCard } from '../../publish/rollback.ts'

/** The part of the publisher that steers a distribution. */
export interface Generations {
  generations(codename: Codename): Promise<{
    readonly generations: readonly GenerationCard[]
    readonly frozen: { readonly to: number; readonly head: number } | undefined
  }>
  rollback(
    codename: Codename,
    n: number,
    within: (tx: Parameters<Audit['owe']>[0], done: { readonly n: number; readonly frozen: boolean }) => Promise<void>,
  ): Promise<{
    readonly n: number
    readonly packages: number
    readonly frozen: boolean
    readonly left_out: readonly string[]
  }>
}

export interface GenerationList {
  readonly codename: string
  readonly live: number | null
  /** The generation that clients are held at; null while the tree follows the packages. */
  readonly rolled_back_to: number | null
  /** Roll to this one to go forward again; null unless rolled back. */
  readonly newest: number | null
  readonly generations: readonly (GenerationCard & { readonly address: string })[]
}

export interface RolledBack {
  readonly status: 'rolled_back' | 'forward'
  readonly message: string
  readonly codename: string
  readonly generation: number
  readonly from: number
  readonly packages: number
  readonly left_out: readonly string[]
}

/** @throws distribution_not_found */
export async function listGenerations(
  {
    publisher,
    repositories,
    formats,
  }: {
    readonly publisher: Pick<Generations, 'generations'>
    readonly repositories: Pick<SeenRepositories, 'need'>
    readonly formats: (id: FormatId) => Pick<Format, 'id' | 'site'>
  },
  name: string,
): Promise<GenerationList> {
  const distribution = repositories.need(name)
  const { codename, format } = distribution
  const site = siteOf(formats(format))
  const { generations, frozen } = await publisher.generations(codename)
  return {
    codename,
    live: generations.find(one => one.live)?.n ?? null,
    rolled_back_to: frozen?.to ?? null,
    newest: frozen?.head ?? null,
    generations: generations
      .toReversed()
      .map(one => ({ ...one, address: site.generationAddress(distribution, one.n) })),
  }
}

/** @throws distribution_not_found, generation_not_kept */
export async function rollBack(
  {
    publisher,
    audit,
    repositories,
  }: {
    readonly publisher: Generations
    readonly audit: Pick<Audit, 'owe'>
    readonly repositories: Pick<SeenRepositories, 'need'>
  },
  name: string,
  wish: { readonly n: number | undefined; readonly by: string; readonly ip: string; readonly why: string },
): Promise<RolledBack> {
  const { codename } = repositories.need(name)
  const { generations, frozen } = await publisher.generations(codename)
  const live = generations.findIndex(one => one.live)
  const before = generations.slice(0, Math.max(live, 0)).findLast(one => one.from === undefined)
  const n =
    wish.n ??
    frozen?.head ??
    before?.n ??
    fail('generation_not_kept', {
      codename,
      generation: 'before the live one',
      kept: generations.map(one => one.n).join(', '),
    })
  const done = await publisher.rollback(codename, n, async (tx, made) => {
    await audit.owe(tx, {
      action: 'ROLLBACK',
      result: 'SUCCESS',
      user: wish.by,
      ip: wish.ip,
      distribution: codename,
      facts: {
        kind: 'distribution.rolled_back',
        generation: made.n,
        ...(made.frozen ? { like: n } : {}),
        reason: wish.why,
      },
    })
  })
  const many = done.left_out.length
  const left =
    many === 0 ? '' : ` ${many === 1 ? 'One package' : `${many} packages`} of it must not or cannot be served any more.`
  return {
    status: done.frozen ? 'rolled_back' : 'forward',
    codename,
    generation: done.n,
    from: n,
    packages: done.packages,
    left_out: done.left_out,
    message: done.frozen
      ? `${codename} is what it was in generation ${n}, until it is rolled forward.${left}`
      : `${codename} follows its packages again.`,
  }
}
