import { lookup } from 'node:dns/promises'
import type { Env } from '../env.ts'
import { createInbound, type Inbound, type Reactions } from '../features/webhooks/inbound.ts'
import { keepSecret } from '../files/secrets.ts'
import type { Log } from '../lib/log.ts'
import { createDelivery, type Delivery } from '../outbound/delivery.ts'
import { createGuardedFetch, type GuardedFetch } from '../outbound/fetch.ts'
import { createMailer, type Mailer } from '../outbound/mail.ts'
import { createNotices, type Notices } from '../outbound/notices.ts'
import type { Foundation } from './foundation.ts'

/** Everything that speaks with the world outside, and what the world tells us. */
export interface Outbound {
  readonly fetch: GuardedFetch
  readonly mailer: Mailer
  readonly notices: Notices
  readonly delivery: Delivery
  /** @param reactions  each starts its work and returns soon: a stop waits for it */
  inbound(reactions: Reactions): Inbound
}

/** Everything that goes out: guarded HTTP, mail, and messages to people. */
export async function composeOutbound(
  env: Env,
  { db, outbox, settings, clock, layout, audit }: Foundation,
  log: Log,
): Promise<Outbound> {
  const secret = env.webhookSecret ?? (await keepSecret(layout, 'webhook'))
  const fetch = createGuardedFetch({
    lookup: host => lookup(host, { all: true }),
    allow: () => settings.now().notifications.allow_private_hosts,
    userAgent: `Gatehouse/${env.version}`,
  })
  const mailer = createMailer({ settings })
  return {
    fetch,
    mailer,
    notices: createNotices({ db, outbox, settings, clock }),
    delivery: createDelivery({ db, outbox, settings, fetch, mailer, secret, clock, log }),
    inbound: reactions => createInbound({ db, audit, outbox, clock, secret, reactions }),
  }
}
