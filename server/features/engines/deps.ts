import type { Jobs } from '../../core/work.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Spool } from '../../files/spool.ts'
import type { Clock } from '../../lib/clock.ts'
import type { AntivirusScanner, VulnerabilityScanner } from '../../scanners/scanner.ts'
import type { Database } from '../../vulndb/store/database.ts'
import type { Importer } from '../../vulndb/store/importer.ts'
import type { Settings } from '../../settings/store.ts'

export interface EngineDeps {
  /** Every engine. Their reports about themselves are requested at each call. */
  readonly scanners: {
    readonly antivirus: readonly AntivirusScanner[]
    readonly vulnerability: readonly VulnerabilityScanner[]
  }
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly database: Database
  readonly importer: Pick<Importer, 'state'>
  readonly jobs: Jobs
  readonly spool: Pick<Spool, 'receive'>
  readonly settings: Pick<Settings, 'now'>
  readonly security: string
  readonly clock: Clock
  /** MEDIA_FOLDER: where sticks are mounted. */
  readonly mediaFolder: string | undefined
}
