import { createHmac } from 'node:crypto'
import type { AppAddress } from '../core/app-address.ts'
import { fail } from '../core/errors.ts'
import type { Debt, Debts } from '../core/feature.ts'
import type { Db } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import { isoNow, type Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Settings } from '../settings/store.ts'
import type { GuardedFetch } from './fetch.ts'
import type { Mailer } from './mail.ts'
import type { Rendered } from './notice-text.ts'
import { KIND_OF, type Channel } from './notices.ts'

/** Delivers what `notices.ts` owes. */
export interface Delivery {
  /** The kinds of the outbox that it delivers. */
  readonly debts: Debts
  /** Stops what is being sent; it stays owed. */
  stop(): void
  /**
   * Sends a test to the saved address, also while webhooks are switched off. @throws webhook_not_configured,
   * webhook_failed, outbound_refused, outbound_failed
   */
  testWebhook(): Promise<{ readonly status: number; readonly host: string; readonly ms: number }>
}

export interface DeliveryDeps {
  readonly db: Db
  readonly outbox: Pick<Outbox, 'owe'>
  readonly settings: Pick<Settings, 'now'>
  readonly address: Pick<AppAddress, 'inMessages'>
  readonly fetch: GuardedFetch
  readonly mailer: Mailer
  /** WEBHOOK_SECRET. */
  readonly secret: string
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'error'>
  /** Seconds before the second, third, … attempt. After the last one the message is given up. */
  readonly waits?: readonly number[]
}

interface Owed {
  readonly id: number
  readonly channel: Channel
  readonly event: string
  readonly body: Rendered
  readonly tries: number
}

/** Ten attempts over nearly eight hours: a chat server may be down for half a working day. */
export const WAITS = [10, 30, 120, 300, 900, 1_800, 3_600, 7_200, 14_400] as const
const ATTEMPT_MS = 15_000
const ANSWER_BYTES = 64 * 1024

/**
 * `sha256=<hex>`, as GitHub signs and as receivers of such webhooks verify.
 * https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries
 */
function signBody(secret: string, body: string | Uint8Array): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}

function ownWords(body: Buffer): string {
  const text = body
    .toString('utf8')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
  return text === '' || text.startsWith('<') ? '' : ` (${text.slice(0, 100)})`
}

/** Delivers owed messages, retries those that were not accepted, and gives up in the end. */
export function createDelivery({
  db,
  outbox,
  settings,
  address,
  fetch,
  mailer,
  secret,
  clock,
  log,
  waits = WAITS,
}: DeliveryDeps): Delivery {
  const stopping = new AbortController()

  async function post(url: string, id: string, { subject: _, ...body }: Rendered): Promise<number> {
    const text = JSON.stringify({ id, ...body })
    const answer = await fetch(url, {
      method: 'POST',
      body: text,
      timeoutMs: ATTEMPT_MS,
      limitBytes: ANSWER_BYTES,
      signal: stopping.signal,
      headers: {
        'Content-Type': 'application/json',
        'X-Gatehouse-Event': body.event,
        'X-Gatehouse-Delivery': id,
        'X-Hub-Signature-256': signBody(secret, text),
      },
    })
    if (answer.status >= 300)
      fail('webhook_failed', { host: new URL(url).host, said: `${answer.status}${ownWords(answer.body)}` })
    return answer.status
  }

  /** Sends nothing when the channel was switched off meanwhile. */
  async function send({ id, channel, body }: Owed): Promise<void> {
    if (channel === 'mail') {
      if (!mailer.isReady() || mailer.receivers().length === 0) return
      return mailer.send({
        to: mailer.receivers(),
        subject: `Gatehouse: ${body.subject}`,
        text: `${body.text}\n\n${String(body.console)}\n`,
      })
    }
    const { webhook_url: url, webhook_enabled: isOn } = settings.now().notifications
    if (isOn && url !== '') await post(url, String(id), body)
  }

  const forget = async (id: number): Promise<void> => {
    await db.query('delete from notice where id = $1', [id])
  }

  /** Owes the message once more, for later; or gives up and logs it. */
  async function failed({ id, channel, event, tries }: Owed, error: unknown): Promise<void> {
    const wait = waits[tries]
    const why = error instanceof Error ? error.message : String(error)
    if (wait === undefined) {
      log.error({ notice: id, channel, event, attempts: tries + 1, why }, 'a message was given up')
      return forget(id)
    }
    log.warn({ notice: id, channel, event, attempt: tries + 1, again_in_s: wait, why }, 'a message was not taken')
    await db.tx(async tx => {
      await tx.query('update notice set tries = tries + 1, last_error = $2 where id = $1', [id, why.slice(0, 500)])
      await outbox.owe(tx, `${KIND_OF[channel]}:${id}`, { delayMs: wait * 1000 })
    })
  }

  async function deliver(channel: Channel, rest: string): Promise<void> {
    const owed = await db.first<Owed>(
      'select id, channel, event, body, tries from notice where id = $1 and channel = $2',
      [rest, channel],
    )
    if (owed === undefined) return
    try {
      await send(owed)
    } catch (error) {
      if (stopping.signal.aborted) throw error // not the receiver's fault: it stays owed as it is
      return failed(owed, error)
    }
    await forget(owed.id)
  }

  const debtOf = (channel: Channel): Debt => ({
    parallel: 4,
    deliver: async rests => {
      for (const rest of rests) await deliver(channel, rest)
    },
  })

  return {
    debts: { [KIND_OF.webhook]: debtOf('webhook'), [KIND_OF.mail]: debtOf('mail') },
    stop: () => stopping.abort(new Error('the service is stopping')),
    testWebhook: async () => {
      const { webhook_url: url } = settings.now().notifications
      if (url === '') fail('webhook_not_configured', { key: 'notifications.webhook_url' })
      const start = performance.now()
      const status = await post(url, `test-${clock.now().getTime()}`, {
        event: 'test',
        timestamp: isoNow(clock),
        text: 'This is the test message of Gatehouse: webhooks work.',
        subject: 'Test',
        console: address.inMessages(),
      })
      return { status, host: new URL(url).host, ms: Math.round(performance.now() - start) }
    },
  }
}
