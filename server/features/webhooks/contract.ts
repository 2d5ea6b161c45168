import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'

const Taken = Type.Object({
  status: Type.Union([Type.Literal('accepted'), Type.Literal('duplicate'), Type.Literal('ignored')], {
    enum: ['accepted', 'duplicate', 'ignored'],
  }),
  event: Type.String(),
  message: Type.String(),
})
const common = {
  access: 'public',
  root: true,
  foreign: true,
  limit: { bucket: 'webhooks', perMinute: 60 },
  reply: Taken,
  fails: ['bad_signature', 'body_too_large', 'bad_request'],
} as const

/**
 * Messages of others. The body is signed: `X-Hub-Signature-256: sha256=<HMAC-SHA-256 of its bytes under WEBHOOK_SECRET,
 * in hex>`. The handlers read the bytes themselves, because the signature covers bytes.
 */
export const webhooks = contract({
  'POST /webhooks/github': {
    ...common,
    summary:
      'Takes a signed GitHub webhook: after a push or release the configured vulnerability feeds are fetched again.',
  },
  'POST /webhooks/kev': {
    ...common,
    summary:
      'Takes a signed message that the catalogue of known exploited vulnerabilities changed, and fetches it again.',
  },
})
