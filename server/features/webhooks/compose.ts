import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { webhooks } from './contract.ts'
import { webhookHandlers } from './handlers.ts'
import { createInbound, type InboundDeps } from './inbound.ts'

/** Webhooks of others, and what follows from them. */
export function composeWebhooks(needs: InboundDeps): Feature {
  const inbound = createInbound(needs)
  return { routes: bind(webhooks, webhookHandlers, { inbound }), outwardDebts: inbound.debts }
}
