import type { SettingsValue } from './schema.ts'
import type { Settings } from './store.ts'

interface Daily {
  readonly enabled: boolean
  readonly hour: number
  readonly minute: number
}

/** The cron line of what a setting begins once a day; undefined while it is switched off. */
export const dailyAt = ({ enabled, hour, minute }: Daily): string | undefined =>
  enabled ? `${minute} ${hour} * * *` : undefined

/** When the clock begins a job by a section that has its own time zone. */
export const dailyBy = (
  settings: Pick<Settings, 'now'>,
  section: 'sync' | 'mirror',
): { readonly when: () => string | undefined; readonly zone: () => string | undefined } => {
  const now = (): SettingsValue['sync'] | SettingsValue['mirror'] => settings.now()[section]
  return { when: () => dailyAt(now()), zone: () => now().timezone || undefined }
}
