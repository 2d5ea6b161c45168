import type { AppAddress } from '../core/app-address.ts'
import { worst } from '../core/findings.ts'
import type { Iso } from '../core/identity.ts'
import type { Manifest } from '../core/manifest.ts'
import { policyOf, type CvePolicy } from '../core/policy.ts'
import { causeOf, openFindings } from '../core/review.ts'
import type { Db, Tx } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import { isoNow, type Clock } from '../lib/clock.ts'
import type { Settings } from '../settings/store.ts'
import type { Notice } from './notice.ts'
import { renderNotice, type Rendered } from './notice-text.ts'

/**
 * Owes messages to people: all of them by webhook, missed deadlines, a full disk and security updates also by mail. A
 * message is written with the change it reports and delivered afterwards, so no crash loses it. Channels that are
 * switched off are owed nothing.
 */
export interface Notices {
  /** In the caller's transaction. Call `outbox.nudge()` after the commit. */
  owe(tx: Tx, notice: Notice): Promise<void>
  /** In a transaction of its own. */
  tell(notice: Notice): Promise<void>
  /**
   * Owes a message when the step from `before` to `after` is quarantine by the gate, or entry into the review queue.
   */
  oweMove(tx: Tx, before: Manifest | undefined, after: Manifest | undefined): Promise<void>
}

export interface NoticesDeps {
  readonly db: Db
  readonly outbox: Pick<Outbox, 'owe' | 'nudge'>
  readonly settings: Pick<Settings, 'now'>
  readonly address: Pick<AppAddress, 'inMessages'>
  readonly clock: Clock
}

export type Channel = 'webhook' | 'mail'
/** The kind of debt for each channel: `webhook:<id>`, `alert:<id>`. */
export const KIND_OF: Record<Channel, string> = { webhook: 'webhook', mail: 'alert' }

const MOST_CVES = 50
const LONGEST_REASON = 300

/** The channels for this event, by the current settings. */
function channelsOf(notice: Notice, { notifications, email }: ReturnType<Settings['now']>): Channel[] {
  const isSmall = 'result' in notice && notice.packages < notifications.webhook_min_packages
  const byWebhook = notifications.webhook_enabled && notifications.webhook_url !== '' && !isSmall
  const isMailed = notice.event === 'sla.breached' || 'disk' in notice || (notice.event === 'sync.finished' && !isSmall)
  const byMail = email.enabled && email.to_addresses !== '' && isMailed
  return [...(byWebhook ? ['webhook' as const] : []), ...(byMail ? ['mail' as const] : [])]
}

const short = (text: string): string => (text.length > LONGEST_REASON ? `${text.slice(0, LONGEST_REASON)} …` : text)

function moveOf(
  before: Manifest | undefined,
  after: Manifest | undefined,
  { policy, now }: { readonly policy: CvePolicy; readonly now: Iso },
): Notice | undefined {
  if (after === undefined || after.state === before?.state) return undefined
  if (after.state !== 'quarantined' && after.state !== 'pending_review') return undefined
  const { ref, by } = after
  const open = openFindings(after, now)
  const { reasons, steps } = causeOf(after, policy, now)
  return {
    event: after.state === 'quarantined' ? 'package.quarantined' : 'package.pending_review',
    package: {
      name: ref.name,
      version: ref.version,
      arch: ref.arch,
      distribution: ref.codename,
      worst: worst(open) ?? null,
      cves: [...new Set(open.map(({ id }) => id))].slice(0, MOST_CVES),
      by,
      ...(reasons.length === 0 ? {} : { reasons: reasons.map(short) }),
      ...(steps === undefined ? {} : { steps }),
    },
  }
}

async function write(
  tx: Tx,
  channel: Channel,
  { event, body }: { readonly event: string; readonly body: Rendered },
  at: string,
): Promise<number> {
  const row = await tx.first<{ id: number }>(
    'insert into notice (channel, event, body, made_at) values ($1, $2, $3, $4) returning id',
    [channel, event, JSON.stringify(body), at],
  )
  return row?.id ?? 0
}

/** Messages to people, over the channels that the settings switch on. */
export function createNotices({ db, outbox, settings, address, clock }: NoticesDeps): Notices {
  async function owe(tx: Tx, notice: Notice): Promise<void> {
    const now = settings.now()
    const at = isoNow(clock)
    for (const channel of channelsOf(notice, now)) {
      const id = await write(
        tx,
        channel,
        { event: notice.event, body: renderNotice(notice, at, address.inMessages()) },
        at,
      )
      await outbox.owe(tx, `${KIND_OF[channel]}:${id}`)
    }
  }
  return {
    owe,
    tell: async notice => {
      await db.tx(tx => owe(tx, notice))
      outbox.nudge()
    },
    oweMove: async (tx, before, after) => {
      const notice = moveOf(before, after, { policy: policyOf(settings.now()), now: isoNow(clock) })
      if (notice !== undefined) await owe(tx, notice)
    },
  }
}
