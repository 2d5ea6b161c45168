import type { Debts, Part } from '../core/feature.ts'
import type { Codename } from '../core/identity.ts'
import { maySee, type Viewer } from '../core/viewer.ts'
import { isNearEnd, renewAt } from '../core/release-fields.ts'
import { FILES_LONGEST_MS } from '../db/outbox.ts'
import type { Db } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Audit } from '../record/audit.ts'
import type { Publisher } from './publisher.ts'
import type { RootDates } from './state.ts'

export interface RenewalDeps {
  readonly db: Db
  readonly outbox: Pick<Outbox, 'owe' | 'nudge'>
  readonly audit: Pick<Audit, 'owe'>
  readonly clock: Clock
  readonly log: Log
  readonly publisher: Pick<Publisher, 'root' | 'signAgain'>
}

/** Signs roots again before their `Valid-Until` is over. */
export interface Renewal extends Part {
  readonly debts: Debts
  /** Owes every root that is past half of its time, also one that expired while the service was off. */
  look(): Promise<void>
  /** Roots that are near their end or past it, as of the last check. */
  warnings(viewer: Viewer): readonly string[]
}

/** Watches the roots that have an end. */
export function createRenewal({ db, outbox, audit, clock, log, publisher }: RenewalDeps): Renewal {
  const ends = new Map<Codename, RootDates>()

  async function note(codename: Codename): Promise<RootDates | undefined> {
    const root = await publisher.root(codename)
    if (root?.until === undefined) ends.delete(codename)
    else ends.set(codename, root)
    return root
  }

  async function look(): Promise<void> {
    const limited = await db.query<{ codename: Codename }>(
      'select codename from distribution where valid_days > 0 order by codename',
    )
    for (const codename of ends.keys()) if (!limited.some(one => one.codename === codename)) ends.delete(codename)
    for (const { codename } of limited) {
      const root = await note(codename)
      const { at, until } = root ?? {}
      if (at === undefined) continue // nothing is published yet
      if (until !== undefined && clock.now() < renewAt({ at, until })) continue
      await db.tx(tx => outbox.owe(tx, `root:${codename}`))
    }
    outbox.nudge()
  }

  async function renew(codename: Codename): Promise<void> {
    const made = await publisher.signAgain(codename, async (tx, { n, until }) => {
      await audit.owe(tx, {
        action: 'RESIGN',
        result: 'SUCCESS',
        user: 'system',
        distribution: codename,
        facts: {
          kind: 'root.signed_again',
          generation: n,
          ...(until === undefined ? {} : { until: until.toISOString() }),
        },
      })
    })
    if (made !== undefined) log.info({ codename, n: made.n, ms: made.ms }, 'the root was signed again')
    await note(codename)
  }

  function warningOf(codename: Codename, { at, until }: RootDates): string[] {
    const now = clock.now()
    if (until === undefined || !isNearEnd({ at, until }, now)) return []
    const end = until.toISOString()
    return [
      until < now
        ? `Clients refuse ${codename} since ${end}: its root could not be signed again before its end. Check the signing key and the log.`
        : `The root of ${codename} ends on ${end} and could not be signed again so far. Check the signing key and the log.`,
    ]
  }

  return {
    look,
    warnings: viewer =>
      [...ends]
        .filter(([codename]) => maySee(viewer, codename))
        .flatMap(([codename, root]) => warningOf(codename, root)),
    debts: {
      root: { longestMs: FILES_LONGEST_MS, deliver: ([codename]) => renew(codename as Codename) },
    },
    jobs: [{ id: 'resign', name: 'Sign roots again before they end', when: () => '*/10 * * * *', run: look }],
    lead: () =>
      void look().catch((error: unknown) => log.error({ err: error }, 'roots with an end could not be checked')),
  }
}
