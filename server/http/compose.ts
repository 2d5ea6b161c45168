import type { AppDeps } from './app.ts'
import { createApp } from './app.ts'
import { createCountTogether } from './count-together.ts'
import { createListener, type Listener } from './listener.ts'
import { createRateLimits } from './rate-limit.ts'
import type { Queryable } from '../db/db.ts'
import { createRateCounts } from '../db/rate-counts.ts'
import type { Replicas } from '../db/replicas.ts'
import type { Clock } from '../lib/clock.ts'
import type { Shared } from '../lib/replica-memory.ts'
import type { Starting } from '../record/starting.ts'
import type { Settings } from '../settings/store.ts'
import type { Keyring } from '../signing/signer.ts'

export interface HttpNeeds extends Omit<AppDeps, 'limits' | 'uploadLimits' | 'binaryKey'> {
  readonly host: string
  readonly port: number
  readonly clock: Clock
  /** The memory that replicas share, so that they count together. */
  readonly shared: Shared
  readonly db: Queryable
  /** Undefined where there is never a second process. */
  readonly replicas: Pick<Replicas, 'others'> | undefined
  readonly settings: Pick<Settings, 'now'>
  readonly keyring: Pick<Keyring, 'keys' | 'publicKey'>
  readonly starting: Pick<Starting, 'now' | 'maintain'>
  /** One that is open already: of the service that this one takes over from. */
  readonly listener?: Listener | undefined
}

/** The server on its port. */
export interface HttpPart {
  /** @returns the URL to show. @throws when the address is taken */
  open(): Promise<string>
  /**
   * Serves trees only, as they are, while what is behind it stops; the listener goes to the next service. Requests that
   * are under way have time to finish.
   */
  hold(doing: string): Promise<Listener>
  /** Accepts no new request and gives uploads time to finish. */
  stop(): Promise<void>
}

const SWEEP_MS = 60_000

/** Routes and trees behind one listener. */
export function composeHttp(needs: HttpNeeds): HttpPart {
  const { clock, shared, db, replicas, keyring, settings, starting } = needs
  let closed: ReadonlySet<string> | undefined
  const now = (): number => clock.now().getTime()
  // the embedded database has one daemon
  const together =
    replicas && createCountTogether({ now, shared, counts: createRateCounts(db), replicas, log: needs.log })
  const limits = createRateLimits(now, shared, together)
  const app = createApp({
    ...needs,
    privateTrees: async () => closed ?? needs.privateTrees(),
    limits,
    uploadLimits: () => settings.now().upload_limits,
    binaryKey: async () => ((await keyring.keys()).length === 0 ? undefined : keyring.publicKey('binary')),
  })
  const listener = needs.listener ?? createListener(app, needs)
  const sweeping = setInterval(() => limits.sweep(), SWEEP_MS)
  return {
    open: () => {
      listener.serve(app)
      return listener.open()
    },
    async hold(doing) {
      closed = await needs.privateTrees() // the database is gone in a moment
      starting.maintain(doing)
      clearInterval(sweeping)
      await listener.settle()
      return listener
    },
    async stop() {
      clearInterval(sweeping)
      await listener.close()
    },
  }
}
