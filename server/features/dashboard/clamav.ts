import type { Silence } from '../../core/policy.ts'
import type { AntivirusScanner } from '../../scanners/scanner.ts'
import type { SettingsValue } from '../../settings/schema.ts'

/** What the antivirus engine says of itself, in the words of existing clients. */
export interface Clamav {
  readonly available: boolean
  readonly enabled: boolean
  /** False where it has no address. */
  readonly set_up: boolean
  readonly daemon_running: boolean
  readonly version: string | null
  readonly db_version: string | null
  readonly db_date: string | null
}

/** Asks the engine. `silence`: why it would give no answer. */
export async function readClamav(
  antivirus: Pick<AntivirusScanner, 'status'>,
  { clamav_scan: enabled }: Pick<SettingsValue['validation'], 'clamav_scan'>,
): Promise<{ readonly clamav: Clamav; readonly silence: Silence }> {
  const { ok, silence = 'no_answer', version, signatures_version, signatures_at } = await antivirus.status()
  const clamav = {
    available: ok,
    enabled,
    set_up: silence !== 'not_set_up',
    daemon_running: ok,
    version: version ?? null,
    db_version: signatures_version ?? null,
    db_date: signatures_at ?? null,
  }
  return { clamav, silence }
}
