import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { FormatId } from '../../core/identity.ts'
import type { Distribution } from '../../core/repository.ts'
import type { Db } from '../../db/db.ts'
import type { Outbox } from '../../db/outbox.ts'
import type { Format } from '../../formats/format.ts'
import { formatsIn, switchesFor } from '../../formats/index.ts'
import type { Jobs, WorkKind } from '../../core/work.ts'
import type { Audit } from '../../record/audit.ts'
import type { Keyring } from '../../signing/signer.ts'
import { distributions } from './contract.ts'
import { formatCards } from './format-cards.ts'
import { distributionHandlers, targetHandlers, type DistributionRouteDeps, type TargetRouteDeps } from './handlers.ts'
import { promotionTargets } from './targets-contract.ts'
import { migrateWork } from './migrate.ts'
import { createInit } from './init.ts'

export interface DistributionNeeds
  extends
    Pick<DistributionRouteDeps, 'publisher' | 'clientFacts' | 'repositories' | 'readUnread'>,
    Pick<TargetRouteDeps, 'settings' | 'clock'> {
  readonly catalog: DistributionRouteDeps['catalog'] & TargetRouteDeps['catalog']
  readonly db: Db
  readonly outbox: Outbox
  readonly audit: Audit
  readonly worker: Jobs
  readonly keyring: Keyring
  readonly formats: readonly Format[]
  /** The formats that REPO_FORMAT switches on. */
  readonly activeFormats: ReadonlySet<FormatId>
}

/** Distributions: setting up, publishing, promoting, going back. */
export function composeDistributions(needs: DistributionNeeds): Feature {
  const { db, outbox, audit, keyring, settings, activeFormats, catalog, publisher, clientFacts, repositories, clock } =
    needs
  const { formats: list } = needs
  const formats = formatsIn(list)
  const isActive = ({ format }: Distribution): boolean =>
    activeFormats.has(format) || !list.some(({ id }) => id === format)
  const isPublishable = ({ format }: Distribution): boolean =>
    list.some(({ id, tree }) => id === format && tree !== undefined)
  const newKey = (): Parameters<Keyring['generate']>[0] => {
    const { key_type: type, key_name: name, key_email: email, overlap_days: overlapDays } = settings.now().signing
    return { type, name, email, overlapDays }
  }
  const init = createInit({
    db,
    outbox,
    audit,
    keyring,
    newKey,
    repositories,
    formats,
    isActive,
    isPublishable,
    formatSetting: ({ format }) => switchesFor(format, list),
  })
  const deps: DistributionRouteDeps & TargetRouteDeps = {
    jobs: needs.worker,
    db,
    catalog,
    audit,
    keyring,
    settings,
    clock,
    repositories,
    formats,
    formatCards: formatCards(list, activeFormats),
    isActive,
    isPublishable,
    init,
    publisher,
    clientFacts,
    readUnread: needs.readUnread,
  }
  return {
    work: [migrateWork(deps) as WorkKind],
    routes: [...bind(distributions, distributionHandlers, deps), ...bind(promotionTargets, targetHandlers, deps)],
  }
}
