import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'

/** Tests of the channels in the settings. */
export const notifications = contract({
  'POST /settings/test-webhook': {
    summary: 'Sends a test message to notifications.webhook_url and answers how the receiver replied.',
    access: 'admin',
    limit: { bucket: 'settings-test', perMinute: 30 },
    reply: Type.Object({
      ok: Type.Literal(true),
      message: Type.String(),
      status: Type.Integer({ description: 'HTTP status of the receiver.' }),
      host: Type.String(),
      ms: Type.Integer(),
    }),
    fails: ['webhook_not_configured', 'webhook_failed', 'outbound_refused', 'outbound_failed'],
  },
  'POST /settings/test-email': {
    summary:
      'Sends a test mail to email.to_addresses, or to the address given, and answers how the mail server replied.',
    access: 'admin',
    edition: 'Mail',
    limit: { bucket: 'settings-test', perMinute: 30 },
    body: Type.Object({
      to: Type.Optional(
        Type.String({
          minLength: 3,
          maxLength: 320,
          pattern: '^[^\\s@]+@[^\\s@]+$',
          rule: 'a mail address such as somebody@example.org',
        }),
      ),
    }),
    reply: Type.Object({
      ok: Type.Literal(true),
      message: Type.String(),
      to: Type.Array(Type.String()),
      server: Type.String(),
      answer: Type.String({ description: "The mail server's own words." }),
    }),
    fails: ['mail_not_configured', 'mail_failed'],
  },
})
