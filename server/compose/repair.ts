import { readdir } from 'node:fs/promises'
import { awaySince } from '../backup/restore-database.ts'
import { readOutcome, writeOutcome, type Outcome } from '../backup/restore-plan.ts'
import { countByCodename, isEmpty } from '../catalog/queries/counts.ts'
import { isRebuildUnfinished, type Rebuild } from '../catalog/rebuild.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { VERIFY } from '../features/backups/verify-work.ts'
import { FORMATS } from '../formats/index.ts'
import type { KeyFollower } from '../publish/follow-keys.ts'
import type { Publisher } from '../publish/publisher.ts'
import type { Outlived } from '../signing/signed-by-retired-keys.ts'
import type { Foundation } from './foundation.ts'

export interface RepairNeeds extends Pick<
  Foundation,
  'db' | 'outbox' | 'log' | 'repositories' | 'layout' | 'starting' | 'audit' | 'worker'
> {
  readonly keys: KeyFollower
  readonly publisher: Publisher
  /** Marks the trees for new advisories after the vulnerability data changed. */
  readonly tellFixes: () => Promise<void>
  readonly outlived: Outlived
  readonly rebuild: Rebuild
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

/** Makes a lost database again, and finishes a rebuild that was interrupted. */
async function restore({ db, log, layout, starting, rebuild }: RepairNeeds): Promise<void> {
  if (!isRebuildUnfinished(layout) && !(await isEmpty(db, ALL_SEEING))) return
  const doing = 'rebuilding the database from the manifests'
  starting.step(doing)
  const done = await rebuild(ALL_SEEING, (read, of) => starting.step(doing, { done: read, of }))
  const { manifests, added, changed, removed, broken } = done
  if (manifests > 0)
    log.warn(
      { manifests, added, changed, removed, left_out: broken.length },
      'the database was lost or incomplete and has been rebuilt from the manifests',
    )
}

/** Trees of distributions that the restored database does not have go, and the audit log says what was done. */
async function followRestore(
  { db, outbox, repositories, layout, audit }: RepairNeeds,
  outcome: Outcome,
): Promise<void> {
  for (const entry of await readdir(layout.trees, { withFileTypes: true }).catch(() => []))
    if (entry.isDirectory() && !entry.name.startsWith('.') && repositories.find(entry.name) === undefined)
      for (const { id } of FORMATS.filter(({ tree }) => tree !== undefined))
        await outbox.owe(db, `distribution:${id}/${entry.name}`)
  const { plan } = outcome
  await audit.record({
    action: 'BACKUP_RESTORE',
    result: 'SUCCESS',
    user: plan.by,
    facts:
      plan.do === 'restore'
        ? {
            kind: 'backup.restored',
            backup: plan.backup.name,
            ...(plan.backup.from === undefined ? {} : { from: plan.backup.from }),
            packages: plan.backup.packages,
            of: plan.backup.created_at,
            log: plan.audit ?? 'replaced',
            aside: `.${plan.away}`,
          }
        : {
            kind: 'backup.undone',
            restored_at: awaySince(plan.away),
            ...(plan.keeps_audit === undefined ? {} : { log: plan.keeps_audit ? 'kept' : 'replaced' }),
          },
  })
  await writeOutcome(layout.root, { ...outcome, followed: true })
}

/** Brings files and database together again after any end of the last run. */
export async function repair(needs: RepairNeeds): Promise<void> {
  const { db, outbox, layout, keys, publisher, tellFixes, outlived, starting } = needs
  starting.step('checking the trees')
  await keys.follow()
  const restored = await readOutcome(layout.root)
  const isForeign = restored?.followed === false
  for (const codename of await publisher.repair({ isForeign }))
    for (const kind of ['publish', 'contents']) await outbox.owe(db, `${kind}:${codename}`)
  if (isForeign) await followRestore(needs, restored)
  await tellFixes()
  await outlived.look()
  await restore(needs)
  await tellUnplaced(needs)
  starting.step('writing what was owed to files and trees')
  await outbox.drain()
  if (isForeign) await needs.worker.ask({ kind: VERIFY, request: {}, by: restored.plan.by })
}
