import type { Handlers, RawRequest } from '../../core/contract.ts'
import type { webhooks } from './contract.ts'
import type { Inbound, Source } from './inbound.ts'
import { readBytes } from '../../lib/read-bytes.ts'

export interface WebhookDeps {
  readonly inbound: Inbound
}

async function take({ inbound }: WebhookDeps, source: Source, raw: RawRequest) {
  const text = (name: string): string | undefined => {
    const value = raw.headers[name]
    return typeof value === 'string' ? value.slice(0, 200) : undefined
  }
  return inbound.take({
    source,
    body: await readBytes(raw.stream),
    signature: text('x-hub-signature-256'),
    event: text('x-github-event'),
    delivery: text('x-github-delivery'),
    ip: raw.clientIp,
  })
}

export const webhookHandlers: Handlers<typeof webhooks, WebhookDeps> = {
  'POST /webhooks/github': (deps, { raw }) => take(deps, 'github', raw),
  'POST /webhooks/kev': (deps, { raw }) => take(deps, 'kev', raw),
}
