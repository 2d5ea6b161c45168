import { createHmac, timingSafeEqual } from 'node:crypto'
import { fail } from '../../core/errors.ts'
import type { Debts } from '../../core/feature.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Outbox } from '../../db/outbox.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Audit } from '../../record/audit.ts'

export type Source = 'github' | 'kev'

/** A message as it came. */
export interface Delivered {
  readonly source: Source
  readonly body: Buffer
  readonly signature: string | undefined
  readonly event: string | undefined
  readonly delivery: string | undefined
  readonly ip: string
}

export interface Taken {
  readonly status: 'accepted' | 'duplicate' | 'ignored'
  readonly event: string
  readonly message: string
}

/** Receives webhooks: checks the signature, accepts each once, and owes what follows in the same transaction. */
export interface Inbound {
  /** @throws bad_signature, bad_request when the signed body is no JSON object */
  take(delivered: Delivered): Promise<Taken>
  /** The kind of the outbox that it delivers. */
  readonly debts: Debts
}

/** What a webhook triggers. It may run again after a crash, and runs once for several that come together. */
export interface Reactions {
  /** Fetches the configured feeds again, after a push or release, as of the advisory databases on GitHub. */
  readonly onGithub?: () => Promise<void>
  /** Fetches the catalogue of known exploited vulnerabilities again. */
  readonly onKev?: () => Promise<void>
}

export interface InboundDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'owe'>
  readonly outbox: Pick<Outbox, 'owe' | 'nudge'>
  readonly clock: Clock
  /** WEBHOOK_SECRET. */
  readonly secret: string
  readonly reactions: Reactions
}

const MINUTE_MS = 60_000
/**
 * How long the same bytes count as the same message. GitHub's bodies differ, and its delivery id is not signed: a
 * replay may change it, so the bytes are remembered. A call for KEV may be `{}` every time: within an hour, replays
 * cannot become a load.
 */
const REMEMBERED_MS: Record<Source, number> = { github: 30 * 24 * 60 * MINUTE_MS, kev: 60 * MINUTE_MS }
const FOLLOWS: Record<Source, string> = {
  github:
    'Taken. The feeds of vulnerability data are fetched behind this answer; sources of packages are not synchronised by this version.',
  kev: 'Taken. The catalogue is fetched behind this answer.',
}
const MEANINGFUL = new Set([
  'push',
  'release',
  'create',
  'registry_package',
  'package',
  'repository_dispatch',
  'workflow_dispatch',
])

/** Compares in a time that reveals nothing about where they differ. */
function isSigned({ body, signature }: Delivered, secret: string): boolean {
  const given = /^sha256=([\da-f]{64})$/i.exec(signature ?? '')?.[1]
  const own = createHmac('sha256', secret).update(body).digest()
  // compared in any case
  return (
    timingSafeEqual(own, given === undefined ? createHmac('sha256', own).digest() : Buffer.from(given, 'hex')) &&
    given !== undefined
  )
}

function parseBody(body: Buffer): Record<string, unknown> {
  try {
    const value: unknown = body.length === 0 ? {} : JSON.parse(body.toString('utf8'))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // refused below
  }
  return fail('bad_request', {
    said: 'The body is no JSON object. Set the content type of the webhook to application/json.',
  })
}

/** `acme/tools, refs/heads/main`: the part of GitHub's body for the audit line. */
function aboutGithub({ repository, ref }: Record<string, unknown>): string {
  const name =
    typeof repository === 'object' && repository !== null
      ? (repository as { full_name?: unknown }).full_name
      : undefined
  return [name, ref]
    .filter(part => typeof part === 'string')
    .map(part => (part as string).replace(/[^\w./-]/g, '?').slice(0, 140))
    .join(', ')
}

/** Records each signature once. @returns false when one of them is known: of two at once, one waits and gets false */
async function remember(tx: Tx, source: Source, proofs: readonly string[], now: Date): Promise<boolean> {
  await tx.query('delete from webhook_delivery where source = $1 and at <= $2', [
    source,
    new Date(now.getTime() - REMEMBERED_MS[source]),
  ])
  const added = await tx.query(
    'insert into webhook_delivery (source, proof, at) select $1, unnest($2::text[]), $3 on conflict do nothing returning 1',
    [source, proofs, now],
  )
  return added.length === proofs.length
}

export function createInbound({ db, audit, outbox, clock, secret, reactions }: InboundDeps): Inbound {
  const reactionTo: Record<Source, (() => Promise<void>) | undefined> = {
    github: reactions.onGithub,
    kev: reactions.onKev,
  }
  return {
    take: async delivered => {
      const { source, body, delivery, ip } = delivered
      if (!isSigned(delivered, secret)) fail('bad_signature', {})
      const event = (source === 'kev' ? 'kev' : (delivered.event ?? 'unknown')).replace(/[^\w.-]/g, '?').slice(0, 60)
      const said = parseBody(body)
      if (source === 'github' && !MEANINGFUL.has(event))
        return {
          status: 'ignored',
          event,
          message: event === 'ping' ? 'The signature is right.' : `Nothing follows from ${event}.`,
        }
      // in one order, so that two of the same wait for one another instead of deadlocking
      const proofs = [
        `body:${createHmac('sha256', secret).update(body).digest('hex')}`,
        ...(delivery === undefined ? [] : [`id:${delivery}`]),
      ].sort()
      const isNew = await db.tx(async tx => {
        if (!(await remember(tx, source, proofs, clock.now()))) return false
        await audit.owe(tx, {
          action: 'SYNC',
          result: 'SUCCESS',
          user: `webhook:${source}`,
          facts: { kind: 'webhook.taken', source, event, about: source === 'kev' ? '' : aboutGithub(said) },
          ip,
        })
        await outbox.owe(tx, `inbound:${source}`)
        return true
      })
      outbox.nudge()
      const follows = reactionTo[source] === undefined ? 'Taken and noted in the audit log.' : FOLLOWS[source]
      return isNew
        ? { status: 'accepted', event, message: follows }
        : { status: 'duplicate', event, message: 'This was taken before. Nothing was done again.' }
    },
    debts: {
      inbound: {
        parallel: 2,
        deliver: async rests => {
          for (const rest of rests) await reactionTo[rest as Source]?.()
        },
      },
    },
  }
}
