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
  readonly publisher: Publisher
  readonly audit: Audit
}

/** What is owed to the files, by kind. */
export function handleDebts({ outbox, catalog, manifests, publisher, audit }: DebtDeps): void {
  outbox.handle('manifest', async rests => {
    await Promise.all(rests.map(async rest => {
      const ref = JSON.parse(rest) as PackageRef
      const manifest = await catalog.find(ref)
      await (manifest === undefined ? manifests.remove(ref) : manifests.write(manifest))
    }))
  }, { parallel: 2, batch: 32 })
  outbox.handle('blob', async rests => { for (const rest of rests) await catalog.settleBlob(sha256(rest)) })
  outbox.handle('publish', async ([codename]) => { await publisher.publish(codename as Codename) }, { parallel: 2 })
  outbox.handle('contents', async ([codename]) => { await publisher.publishContents(codename as Codename) })
  outbox.handle('audit', () => audit.deliver())
}

/** Every published tree is to be signed again: the set of keys has changed. */
export async function oweEveryTree(db: Db, outbox: Outbox): Promise<void> {
  const known = await db.query<{ codename: Codename }>('select codename from distribution union select codename from generation')
  for (const { codename } of known) {
    await db.tx(async tx => {
      await tx.query(`insert into publish_dirty (codename, name) values ($1, '')`, [codename])
      await outbox.owe(tx, `publish:${codename}`)
    })
  }
  outbox.nudge()
}
