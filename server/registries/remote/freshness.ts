import { AppError, isRefusal } from '../../core/errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { within, type Flights } from './flights.ts'

/** What an upstream said of something, and when it was asked. */
export interface AskedRow {
  /** When it last said so. */
  readonly checked_at: Date
  /** When it was asked last. */
  readonly tried_at: Date
  /** Why that failed; null where it did not. */
  readonly said: string | null
  /** It came from another installation, and its upstream said nothing since: it holds at any age. */
  readonly is_carried?: boolean | null
}

/** Set where the upstream could not be asked now: since when that is what is known, and why. */
export interface Stale {
  readonly since: Date
  readonly said: string
}
export type Known<T> = T & { readonly stale?: Stale }

/** How one thing is found here, asked for, and kept. */
export interface Asking<T extends AskedRow> {
  /** Names it among everything that is asked for. */
  readonly key: string
  readonly find: () => Promise<T | undefined>
  /** Asks the upstream, and keeps what it says. */
  readonly refresh: (known: T | undefined, signal: AbortSignal) => Promise<void>
  /** Keeps why that failed. */
  readonly failed: (said: string, error: unknown) => Promise<void>
}

/** What upstreams say, asked as seldom as clients allow. */
export interface Freshness {
  /**
   * What is known of a thing; the upstream is asked where that is older than 5 minutes, once at a time. While it fails,
   * or takes longer than 5 seconds, what was known holds for up to 7 days.
   * @throws what `refresh` throws where nothing is known
   */
  current<T extends AskedRow>(asking: Asking<T>): Promise<Known<T> | undefined>
}

const FRESH_MS = 5 * 60_000
const STALE_MS = 7 * 86_400_000
const SLOW_MS = 5_000
/** An upstream that just failed is not asked by everybody in turn. */
const AGAIN_MS = 30_000

/** Why, for people: it names the host and no more of the address. */
const saidOf = (error: unknown): string =>
  error instanceof AppError ? error.message : 'Something inside failed; the log says what.'

/** What became of a question that threw: an answer that is none, or an address that is not asked, is refused. */
export const outcomeOf = (error: unknown): 'failed' | 'refused' =>
  isRefusal(error, 'upstream_refused') || isRefusal(error, 'outbound_refused') ? 'refused' : 'failed'

export function createFreshness({
  clock,
  log,
  flights,
}: {
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
  readonly flights: Flights
}): Freshness {
  const ageOf = (at: Date): number => clock.now().getTime() - at.getTime()
  const isUsable = ({ checked_at, is_carried: isCarried }: AskedRow): boolean =>
    isCarried === true || ageOf(checked_at) < STALE_MS
  const staled = <T extends AskedRow>(row: T, said: string): Known<T> => ({
    ...row,
    stale: { since: row.checked_at, said },
  })

  function fly<T extends AskedRow>({ key, refresh, failed }: Asking<T>, known: T | undefined): Promise<void> {
    return flights.join(key, async signal => {
      try {
        await refresh(known, signal)
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error, asked: key }, 'an upstream gave no usable answer')
        await failed(saidOf(error), error)
        throw error
      }
    })
  }

  return {
    async current<T extends AskedRow>(asking: Asking<T>): Promise<Known<T> | undefined> {
      const known = await asking.find()
      if (known !== undefined && ageOf(known.checked_at) < FRESH_MS) return known
      if (known !== undefined && known.said !== null && isUsable(known) && ageOf(known.tried_at) < AGAIN_MS)
        return staled(known, known.said)
      const flight = fly(asking, known)
      if (known === undefined || !isUsable(known)) {
        await flight
        return asking.find()
      }
      try {
        const came = await within(
          SLOW_MS,
          flight.then(() => true),
        )
        return came === true ? await asking.find() : staled(known, 'It did not answer within 5 s.')
      } catch (error) {
        return staled(known, saidOf(error))
      }
    },
  }
}
