import type { AppAddress } from '../core/app-address.ts'
import type { Part } from '../core/feature.ts'
import type { Db } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import type { Layout } from '../files/layout.ts'
import { keepSecret } from '../files/secrets.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { SecretBox } from '../lib/secret-box.ts'
import type { Settings } from '../settings/store.ts'
import { createDelivery, type Delivery } from './delivery.ts'
import { createGuardedFetch, type GuardedFetch } from './fetch.ts'
import { createMailQueue, type MailQueue } from './mail-queue.ts'
import { createMailer, type Mailer } from './mail.ts'
import { createNotices, type Notices } from './notices.ts'
import { createResolver } from './resolver.ts'

export interface OutboundNeeds {
  readonly db: Db
  readonly outbox: Outbox
  readonly settings: Settings
  readonly address: Pick<AppAddress, 'inMessages'>
  readonly clock: Clock
  readonly layout: Layout
  readonly box: SecretBox
  readonly log: Log
  /** The version of this program, sent with each request. */
  readonly version: string
  /** WEBHOOK_SECRET. Made and kept when it is not set. */
  readonly webhookSecret: string | undefined
}

/** Everything that goes out. */
export interface OutboundPart extends Part {
  readonly fetch: GuardedFetch
  readonly mailer: Mailer
  readonly notices: Notices
  readonly delivery: Delivery
  /** Mail about accounts. */
  readonly mail: Pick<MailQueue, 'owe'> & Pick<Mailer, 'isReady'>
  /** Signs outgoing webhooks and checks incoming ones. */
  readonly webhookSecret: string
}

/** Everything that goes out: guarded HTTP, mail, and messages to people. */
export async function composeOutbound(needs: OutboundNeeds): Promise<OutboundPart> {
  const { db, outbox, settings, address, clock, layout, box, log, version } = needs
  const webhookSecret = needs.webhookSecret ?? (await keepSecret(layout, 'webhook'))
  const fetch = createGuardedFetch({
    lookup: createResolver(clock),
    allow: () => settings.now().notifications.allow_private_hosts,
    userAgent: `Gatehouse/${version}`,
  })
  const mailer = createMailer({ settings })
  const queue = createMailQueue({ db, outbox, mailer, box, clock, log })
  const delivery = createDelivery({ db, outbox, settings, address, fetch, mailer, secret: webhookSecret, clock, log })
  return {
    fetch,
    mailer,
    notices: createNotices({ db, outbox, settings, address, clock }),
    delivery,
    mail: { isReady: () => mailer.isReady(), owe: queue.owe },
    webhookSecret,
    debts: { mail: { deliver: queue.deliver } },
    outwardDebts: delivery.debts,
    stop: () => delivery.stop(),
  }
}
