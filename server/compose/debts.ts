import type { Catalog } from '../catalog/catalog.ts'
import { sha256, type Codename, type PackageRef } from '../core/identity.ts'
import type { Db } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import type { Manifests } from '../files/manifests.ts'
import type { Publisher } from '../publish/publisher.ts'
import type { Audit } from '../record/audit.ts'

export interface DebtDeps {
  readonly outbox: Outbox
  readonly catalog: Catalog
  readonly manifests: Manifests
  readonly publisher: Pick<Publisher, 'publish' | 'publishContents'>
  readonly audit: Audit
}

/** So many changes in one publication mean that packages come in bulk. */
const BULK = 4
const LONGEST_PAUSE_MS = 1_000

/**
 * While packages come in bulk, two thirds of the time belong to them and not to trees that are out of date at once. Who
 * uploads one after the other never waits.
 */
function paced(publish: Publisher['publish']): (codename: Codename) => Promise<void> {
  const free = new Map<Codename, number>()
  return async codename => {
    const pauseMs = (free.get(codename) ?? 0) - performance.now()
    if (pauseMs > 0) await new Promise(resolve => setTimeout(resolve, pauseMs))
    const done = await publish(codename)
    if (done !== undefined && done.changes >= BULK)
      free.set(codename, performance.now() + Math.min(LONGEST_PAUSE_MS, 2 * done.ms))
    else free.delete(codename)
  }
}

/** None of these is put off for longer (`catalog.ts`: 30 s). */
const longestMs = 60_000

/** What is owed to the files, by kind. */
export function handleDebts({ outbox, catalog, manifests, publisher, audit }: DebtDeps): void {
  outbox.handle(
    'manifest',
    async rests => {
      await Promise.all(
        rests.map(async rest => {
          const ref = JSON.parse(rest) as PackageRef
          const manifest = await catalog.find(ref)
          await (manifest === undefined ? manifests.remove(ref) : manifests.write(manifest))
        }),
      )
    },
    { parallel: 2, batch: 32, longestMs },
  )
  outbox.handle(
    'blob',
    async rests => {
      for (const rest of rests) await catalog.settleBlob(sha256(rest))
    },
    { longestMs },
  )
  const publish = paced(publisher.publish)
  outbox.handle('publish', ([codename]) => publish(codename as Codename), { parallel: 2, longestMs })
  outbox.handle(
    'contents',
    async ([codename]) => {
      await publisher.publishContents(codename as Codename)
    },
    { longestMs },
  )
  outbox.handle('audit', () => audit.deliver(), { longestMs })
}

/** Every published tree is to be signed again: the set of keys has changed. */
export async function oweEveryTree(db: Db, outbox: Outbox): Promise<void> {
  const known = await db.query<{ codename: Codename }>(
    'select codename from distribution union select codename from generation',
  )
  for (const { codename } of known) {
    await db.tx(async tx => {
      await tx.query(`insert into publish_dirty (codename, name) values ($1, '')`, [codename])
      await outbox.owe(tx, `publish:${codename}`)
    })
  }
  outbox.nudge()
}
