import type { Db, Tx } from '../db/db.ts'
import type { Deliver } from '../core/feature.ts'
import type { Outbox } from '../db/outbox.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { SecretBox } from '../lib/secret-box.ts'
import type { Mail } from './mail.ts'

/** One text mail to one person. */
export interface QueuedMail extends Mail {
  readonly to: string
}

/** Owed mails. They are written with the change they report, encrypted, and the outbox sends them. */
export interface MailQueue {
  /** Owes the mail inside `tx`. A mail that is not sent before `until` is dropped. */
  owe(tx: Tx, mail: QueuedMail, until: Date): Promise<void>
  /** Sends the mail owed under `mail:<number>`; for `outbox.handle`. When it throws, the mail stays owed. */
  readonly deliver: Deliver
}

export interface MailQueueDeps {
  readonly db: Db
  readonly outbox: Pick<Outbox, 'owe'>
  readonly mailer: { send(mail: QueuedMail): Promise<void> }
  readonly box: SecretBox
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
}

/** Keeps mails in the table `mail_pending`, encrypted: a mail may hold a link that is as good as a password. */
export function createMailQueue({ db, outbox, mailer, box, clock, log }: MailQueueDeps): MailQueue {
  async function deliverOne(id: number): Promise<void> {
    const row = await db.first<{ sealed: string; until: Date }>(
      'select sealed, until from mail_pending where id = $1',
      [id],
    )
    if (row === undefined) return
    if (row.until > clock.now()) await mailer.send(JSON.parse(box.open(row.sealed).toString('utf8')) as QueuedMail)
    else log.warn({ mail: id }, 'a mail could not be sent in time and was dropped')
    await db.query('delete from mail_pending where id = $1', [id])
  }

  return {
    async owe(tx, mail, until) {
      const row = await tx.first<{ id: number }>(
        'insert into mail_pending (sealed, until) values ($1, $2) returning id',
        [box.seal(JSON.stringify(mail)), until],
      )
      await outbox.owe(tx, `mail:${row?.id ?? 0}`)
    },
    deliver: async rests => {
      for (const rest of rests) await deliverOne(Number(rest))
    },
  }
}
