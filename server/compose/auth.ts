import { randomBytes } from 'node:crypto'
import type { Env } from '../env.ts'
import { createAuth, type Auth } from '../features/auth/auth.ts'
import type { Directory } from '../features/auth/directory.ts'
import { createRevocations } from '../features/auth/revocations.ts'
import type { Log } from '../lib/log.ts'
import { createMailQueue } from '../outbound/mail-queue.ts'
import type { Mailer } from '../outbound/mail.ts'
import type { Foundation } from './foundation.ts'

export interface AuthOptions {
  readonly log: Log
  readonly mailer: Mailer
  readonly directory?: Directory | undefined
}

/**
 * A directory that is asked only while the edition and its licence have one. In the days of grace it is: a login
 * changes nothing.
 */
const licensed = (directory: Directory, licensing: Pick<Foundation['licensing'], 'allowed'>): Directory => ({
  authenticate: directory.authenticate,
  isEnabled: () => licensing.allowed() !== 'nothing' && directory.isEnabled(),
})

/**
 * Accounts, logins and what is mailed about them. The community edition asks no directory: whoever is not local gets
 * 401.
 */
export function composeAuth(env: Env, base: Foundation, { log, mailer, directory }: AuthOptions): Auth {
  const { db, outbox, clock, box, settings, audit, jwtSecret, licensing } = base
  const queue = createMailQueue({ db, outbox, mailer, box, clock, log })
  const auth = createAuth({
    db,
    outbox,
    clock,
    box,
    settings,
    audit,
    log,
    jwtSecret,
    jwtMinutes: env.jwtMinutes,
    random: randomBytes,
    revocations: createRevocations({ db, clock, shared: base.shared }),
    mail: { isReady: () => mailer.isReady(), owe: queue.owe },
    directory: directory === undefined ? undefined : licensed(directory, licensing),
  })
  outbox.handle('mail', queue.deliver)
  outbox.handle('reset', auth.deliverResets)
  return auth
}
