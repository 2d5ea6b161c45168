import type { SettingsValue } from './schema.ts'

/** The runtime configuration. `/repos/settings.json` holds only what differs from the defaults. */
export interface Settings {
  /** A frozen snapshot; a run takes one at its start and keeps it. */
  now(): SettingsValue
  /** The whole object as `GET /settings/` answers it: secrets as `***`. */
  masked(): Record<string, unknown>
  /**
   * Deep-merges `change`, checks it, writes it atomically, tells the subscribers.
   * `***` for a secret means unchanged. @throws unknown_setting, bad_setting; then nothing has changed
   */
  patch(change: unknown): Promise<{ readonly changed: readonly string[] }>
  subscribe(listener: (now: SettingsValue) => void): void
}
