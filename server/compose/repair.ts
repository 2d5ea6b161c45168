import { countByCodename, isEmpty } from '../catalog/queries/counts.ts'
import type { Rebuilt } from '../catalog/rebuild.ts'
import { ALL_SEEING, type Viewer } from '../core/viewer.ts'
import type { KeyFollower } from '../publish/follow-keys.ts'
import type { Publisher } from '../publish/publisher.ts'
import type { Outlived } from '../signing/signed-by-retired-keys.ts'
import type { Foundation } from './foundation.ts'

export interface RepairNeeds extends Pick<Foundation, 'spool' | 'db' | 'outbox' | 'log' | 'repositories'> {
  readonly keys: KeyFollower
  readonly publisher: Publisher
  /** Marks the trees for new advisories after the vulnerability data changed. */
  readonly tellFixes: () => Promise<void>
  readonly outlived: Outlived
  readonly rebuild: (viewer: Viewer) => Promise<Rebuilt>
}

/** Names packages that no distribution has, so that no tree serves them. */
async function tellUnplaced({ db, log, repositories }: RepairNeeds): Promise<void> {
  for (const [codename, packages] of await countByCodename(db, ALL_SEEING))
    if (repositories.find(codename) === undefined)
      log.error(
        { codename, packages },
        'packages are of a distribution that is not there and are not served; add a distribution of this codename',
      )
}

/** Brings files and database together again after any end of the last run. */
export async function repair(needs: RepairNeeds): Promise<void> {
  const { spool, db, outbox, log, keys, publisher, tellFixes, outlived, rebuild } = needs
  await spool.sweep()
  await keys.follow()
  for (const codename of await publisher.repair())
    for (const kind of ['publish', 'contents']) await outbox.owe(db, `${kind}:${codename}`)
  await tellFixes()
  await outlived.look()
  if (await isEmpty(db, ALL_SEEING)) {
    const { manifests: found } = await rebuild(ALL_SEEING)
    if (found > 0) log.warn({ manifests: found }, 'the database was empty and has been rebuilt from the manifests')
  }
  await tellUnplaced(needs)
  await outbox.drain()
}
