import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { settings } from './contract.ts'
import { settingsHandlers, type SettingsRouteDeps } from './handlers.ts'

/** Settings and signing keys. */
export function composeSettings(deps: SettingsRouteDeps): Feature {
  return { routes: bind(settings, settingsHandlers, deps) }
}
