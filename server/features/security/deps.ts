import type { Catalog } from '../../catalog/catalog.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Audit } from '../../record/audit.ts'
import type { SignatureFile } from '../../scanners/clamav-signatures.ts'
import type { AntivirusScanner, EngineStatus } from '../../scanners/scanner.ts'
import type { Settings } from '../../settings/store.ts'
import type { Decisions } from '../../review/decisions.ts'
import type { Updated } from './freshclam.ts'
import type { Rescans } from '../../review/rescan.ts'
import type { SlaWatch } from '../../review/deadlines.ts'

/** The antivirus engine's signatures: what lies on disk, and how newer ones come there. */
export interface Signatures {
  files(): Promise<readonly SignatureFile[]>
  /** @throws signatures_not_updated, engine_unavailable */
  update(): Promise<Updated>
  /** Has the engine read the files again while it goes on with the old ones. */
  reload(): Promise<'started' | 'failed' | 'not_configured'>
}

export interface SecurityDeps {
  readonly db: Db
  readonly catalog: Pick<Catalog, 'find'>
  readonly repositories: Pick<Repositories, 'all' | 'get'>
  readonly settings: Pick<Settings, 'now' | 'patch'>
  readonly audit: Pick<Audit, 'record'>
  readonly clock: Clock
  readonly antivirus: Pick<AntivirusScanner, 'id' | 'status'>
  /** What every engine says of itself, for the report. */
  readonly engines: () => Promise<readonly EngineStatus[]>
  readonly signatures: Signatures
  readonly decisions: Decisions
  readonly rescans: Pick<Rescans, 'rescan'>
  readonly sla: SlaWatch
}
