import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { notifications } from './contract.ts'
import { notificationHandlers, type NotificationDeps } from './handlers.ts'

/** Tries of webhook and mail. */
export function composeNotifications(deps: NotificationDeps): Feature {
  return { routes: bind(notifications, notificationHandlers, deps) }
}
