import type { FormatId } from '../../core/identity.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Jobs } from '../../core/work.ts'
import type { Db } from '../../db/db.ts'
import type { Outbox } from '../../db/outbox.ts'
import type { Format } from '../../formats/format.ts'
import type { Source } from '../../imports/source.ts'
import type { Audit } from '../../record/audit.ts'
import type { Settings } from '../../settings/store.ts'
import type { Worker } from '../../work/worker.ts'

/** What the routes of mirrors need. */
export interface MirrorRouteDeps {
  readonly db: Db
  readonly settings: Pick<Settings, 'now' | 'patch'>
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly listSources: () => Promise<readonly Source[]>
  readonly worker: Jobs & Pick<Worker, 'cancel' | 'onMoved'>
  readonly audit: Pick<Audit, 'record' | 'owe'>
  readonly outbox: Pick<Outbox, 'nudge'>
  readonly formatOf: (id: FormatId) => Format
  /** When the clock mirrors next. */
  readonly nextRun: () => string | null
}
