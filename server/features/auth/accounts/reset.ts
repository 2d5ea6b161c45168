import type { AppAddress } from '../../../core/app-address.ts'
import { fail } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Deliver } from '../../../core/feature.ts'
import type { Outbox } from '../../../db/outbox.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Log } from '../../../lib/log.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import type { Audit } from '../../../record/audit.ts'
import { hashPassword, hashToken, weaknessOf } from './passwords.ts'
import { findResetAccounts, findResetOwner, keepReset, takeReset, type Receiver } from './reset-store.ts'
import { spendOnce } from '../sessions/revocations.ts'
import { setPassword } from './store.ts'

/** The person who forgot a password, in their own words. */
export interface Asked {
  readonly email?: string | undefined
  readonly username?: string | undefined
  readonly ip: string
}

interface Noted extends Asked {
  readonly id: string
}

export interface PasswordReset {
  /** Only notes the request: cost and answer are the same whether or not anybody has that name. */
  ask(asked: Asked): Promise<void>
  /** Finds the person, makes the link and owes the mail; for `outbox.handle('reset')`. */
  readonly deliver: Deliver
  /**
   * Sets the password and ends every session. @throws bad_reset_token, weak_password; after a weak one the link is
   * still good
   */
  reset(given: { readonly token: string; readonly password: string; readonly ip: string }): Promise<void>
}

export interface ResetDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'owe'>
  readonly outbox: Pick<Outbox, 'owe' | 'nudge'>
  readonly address: Pick<AppAddress, 'inMessages'>
  readonly mail: {
    /** Whether mail could be sent at all. */
    isReady(): boolean
    owe(
      tx: Tx,
      mail: { readonly to: string; readonly subject: string; readonly text: string },
      until: Date,
    ): Promise<void>
  }
  readonly box: SecretBox
  readonly clock: Clock
  readonly random: (bytes: number) => Buffer
  readonly log: Pick<Log, 'warn'>
}

const MINUTES = 30
/** Mails to one person within 30 minutes, whoever asks for them. */
const MOST_MAILS = 5

/**
 * Without control characters, which no name or address has: escaped, they would make the row longer than an index
 * allows.
 */
const plain = (text: string | undefined): string | undefined => text?.replace(/\p{Cc}/gu, '')

function wordsOf(username: string, link: string): string {
  return (
    `Somebody asked for a new password for the Gatehouse account ${username}.\n\n` +
    `Set it here within ${MINUTES} minutes; the link works once:\n\n${link}\n\n` +
    'If that was not you, do nothing: the password stays as it is.\n'
  )
}

/** A forgotten password: a link by mail that is good once, for 30 minutes, and only the newest one. */
export function createReset({ db, audit, outbox, address, mail, box, clock, random, log }: ResetDeps): PasswordReset {
  let saidUnable = false

  function linkFor(token: string): string {
    // a token behind the # reaches no server and no log
    return `${address.inMessages()}/#/reset-password?token=${token}`
  }

  async function mailTo({ username, email }: Receiver, { id, ip }: Noted): Promise<void> {
    const token = random(32).toString('base64url')
    const now = clock.now()
    const until = new Date(now.getTime() + MINUTES * 60_000)
    await db.tx(async tx => {
      // a debt may be delivered twice, and a second link would end the first
      if (!(await spendOnce(tx, `reset:${id}:${username}`, until))) return
      if (!(await keepReset(tx, { username, hash: hashToken(token), now, until, most: MOST_MAILS }))) return
      await audit.owe(tx, {
        action: 'PASSWORD_RESET',
        result: 'WARNING',
        user: username,
        facts: { kind: 'password.link_sent' },
        ip,
      })
      await mail.owe(
        tx,
        { to: email, subject: 'Gatehouse: set a new password', text: wordsOf(username, linkFor(token)) },
        until,
      )
    })
    outbox.nudge()
  }

  return {
    async ask(asked) {
      // encrypted because it is an address; one row for anybody, so that the time reveals nothing
      const noted: Noted = {
        ip: asked.ip,
        email: plain(asked.email),
        username: plain(asked.username),
        id: random(12).toString('base64url'),
      }
      await outbox.owe(db, `reset:${box.seal(JSON.stringify(noted))}`)
      outbox.nudge()
    },
    async deliver(rests) {
      if (!mail.isReady()) {
        if (!saidUnable)
          log.warn(
            {},
            'a password reset was asked for, but email is not configured: see the settings section email. This is said once.',
          )
        saidUnable = true
        return
      }
      for (const rest of rests) {
        const asked = JSON.parse(box.open(rest).toString('utf8')) as Noted
        for (const person of await findResetAccounts(db, asked)) await mailTo(person, asked)
      }
    },
    async reset({ token, password, ip }) {
      const hash = hashToken(token)
      if ((await findResetOwner(db, hash, clock.now())) === undefined) fail('bad_reset_token', {})
      const why = weaknessOf(password)
      if (why !== undefined) fail('weak_password', { why, field: 'new_password' })
      const passwordHash = await hashPassword(password, 'new_password')
      await db.tx(async tx => {
        const username = (await takeReset(tx, hash, clock.now())) ?? fail('bad_reset_token', {})
        await setPassword(tx, { username, hash: passwordHash })
        await audit.owe(tx, {
          action: 'PASSWORD_RESET',
          result: 'SUCCESS',
          user: username,
          facts: { kind: 'password.reset', by: 'link' },
          ip,
        })
      })
      outbox.nudge()
    },
  }
}
