import type { Handlers } from '../../core/contract.ts'
import type { Delivery } from '../../outbound/delivery.ts'
import type { Mailer } from '../../outbound/mail.ts'
import type { notifications } from './contract.ts'

export interface NotificationDeps {
  readonly delivery: Pick<Delivery, 'testWebhook'>
  readonly mailer: Pick<Mailer, 'test'>
}

export const notificationHandlers: Handlers<typeof notifications, NotificationDeps> = {
  'POST /settings/test-webhook': async ({ delivery }) => {
    const { status, host, ms } = await delivery.testWebhook()
    return { ok: true, message: `${host} took the message and answered ${status} after ${ms} ms.`, status, host, ms }
  },
  'POST /settings/test-email': async ({ mailer }, { body }) => {
    const { to, server, answer } = await mailer.test(body.to)
    return { ok: true, message: `${server} took the mail to ${to.join(', ')}.`, to: [...to], server, answer }
  },
}
