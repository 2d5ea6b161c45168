import type { Catalog } from '../../catalog/catalog.ts'
import type { Actor, Admit, Changed, Written } from '../../catalog/change.ts'
import { isRefusal } from '../../core/errors.ts'
import type { Tx } from '../../db/db.ts'
import type { Outcome } from '../../lib/groups.ts'
import { passGate, type Applicant, type Door, type Gate } from '../../pipeline/gate.ts'

/** So many are looked at at the same time; those that came to the door do not count. */
const AT_ONCE = 64

export interface TogetherDeps {
  readonly gate: Gate
  readonly catalog: Pick<Catalog, 'changeAll'>
}

/** What became of one, as far as it is known before the commit. */
export type Fate = Outcome<Pick<Written, 'outcome' | 'manifest'>>

export interface TogetherOptions {
  readonly signal: AbortSignal
  /**
   * Written in the transaction that adds them: where a job goes on after a crash. The fates are in the order of the
   * applicants. When it throws, nothing of that transaction happened.
   */
  readonly within: (tx: Tx, fates: readonly Fate[]) => Promise<void>
}

/** These end the whole batch: the next one would fail in the same way. */
const endsAll = (error: unknown): boolean =>
  !isRefusal(error) || ['storage_full', 'uploads_stopped'].includes(error.code)

interface Waiting {
  readonly n: number
  readonly change: Admit
  readonly resolve: (changed: Changed) => void
  readonly reject: (error: unknown) => void
}

/** Waits until all have come to the door or have ended before it, then lets those at the door through together. */
function createGathering(
  { catalog }: Pick<TogetherDeps, 'catalog'>,
  { size, actor, within }: Pick<TogetherOptions, 'within'> & { readonly size: number; readonly actor: Actor },
) {
  const waiting: Waiting[] = []
  const ended = new Map<number, Fate>()
  let opened: Promise<void> | undefined
  let fatal: { readonly error: unknown } | undefined

  async function open(): Promise<void> {
    try {
      if (fatal !== undefined) throw fatal.error
      const outcomes = await catalog.changeAll(
        waiting.map(({ change }) => change),
        actor,
        (tx, fates) => {
          const all = new Map(ended)
          for (const [at, { n }] of waiting.entries()) all.set(n, fates[at] as Fate)
          return within(
            tx,
            Array.from({ length: size }, (_, n) => all.get(n) as Fate),
          )
        },
      )
      for (const [at, { resolve, reject }] of waiting.entries()) {
        const outcome = outcomes[at]
        if (outcome === undefined) reject(new Error('the catalogue has answered for fewer versions than it was given'))
        else if ('error' in outcome) reject(outcome.error)
        else resolve(outcome.value)
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error)
      throw error
    }
  }
  const look = (): void => {
    if (waiting.length + ended.size === size) opened ??= open()
  }
  return {
    /** The door of the n-th. */
    door: (n: number, came: () => void): Door => {
      return change =>
        new Promise((resolve, reject) => {
          waiting.push({ n, change, resolve, reject })
          came()
          look()
        })
    },
    /** The n-th ended; one that had come to the door is known already. */
    end(n: number, fate: Fate): void {
      if (waiting.some(one => one.n === n)) return
      if ('error' in fate && endsAll(fate.error)) fatal ??= fate
      ended.set(n, fate)
      look()
    },
    /** @throws what ended all of them */
    opened: async (): Promise<void> => {
      look()
      await opened
    },
  }
}

/**
 * Admits many through the same gate as one upload, each by itself as far as the door, and through that together: one
 * transaction for their rows, audit lines and debts. When this resolves, every one of them is durable.
 * @param applicants  of one actor; the gate owns their files
 * @returns an outcome for each, in their order. @throws what ended all of them: then none of them was added
 */
export async function admitTogether(
  deps: TogetherDeps,
  { applicants, actor }: { readonly applicants: readonly Applicant[]; readonly actor: Actor },
  { signal, within }: TogetherOptions,
): Promise<readonly Outcome<Changed>[]> {
  const gathering = createGathering(deps, { size: applicants.length, actor, within })
  const results: Outcome<Changed>[] = []
  const rest = applicants.entries()
  const passing: Promise<void>[] = []
  /** Resolves when the applicant is at the door, or has ended before it. */
  const bring = (n: number, applicant: Applicant): Promise<void> =>
    new Promise(came => {
      passing.push(
        passGate(deps.gate, applicant, signal, gathering.door(n, came)).then(
          value => {
            results[n] = { value }
            gathering.end(n, { value })
            came()
          },
          (error: unknown) => {
            results[n] = { error }
            gathering.end(n, { error })
            came()
          },
        ),
      )
    })
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const [n, applicant] of rest) await bring(n, applicant)
    }),
  )
  try {
    await gathering.opened()
  } finally {
    await Promise.all(passing)
  }
  return results
}
