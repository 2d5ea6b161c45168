import type { Part } from '../core/feature.ts'
import type { Codename } from '../core/identity.ts'
import type { Repositories } from '../core/repository.ts'
import type { Db } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import { getFormat } from '../formats/index.ts'
import type { Database } from '../vulndb/store/database.ts'

/** Keeps the advisories in the trees up to date with the loaded vulnerability data. */
export interface AdvisoryFollower extends Part {
  /**
   * When the loaded data differ from those of the last call, every published tree with advisories is owed. The first
   * call always counts as a difference.
   */
  follow(): Promise<void>
}

/**
 * Owes the advisories again when other data are loaded, also by another program. The publication finds out which apply.
 */
export function createAdvisoryFollower({
  db,
  outbox,
  repositories,
  database,
}: {
  readonly db: Db
  readonly repositories: Pick<Repositories, 'all'>
  readonly outbox: Pick<Outbox, 'owe' | 'nudge'>
  readonly database: Database
}): AdvisoryFollower {
  let followed: number | undefined

  async function follow(): Promise<void> {
    const generation = (await database.open())?.meta.generation
    if (generation === followed) return
    const telling = repositories
      .all()
      .filter(({ format }) => getFormat(format).tree?.advisories !== undefined)
      .map(({ codename }) => codename)
    const published = await db.query<{ codename: Codename }>(
      'select distinct codename from generation where codename = any($1)',
      [telling],
    )
    await db.tx(async tx => {
      for (const { codename } of published) await outbox.owe(tx, `contents:${codename}`)
    })
    followed = generation
    outbox.nudge()
  }

  return {
    follow,
    jobs: [
      {
        id: 'advisories',
        name: 'Tell clients of fixes that newly loaded data name',
        when: () => '*/10 * * * *',
        run: follow,
      },
    ],
  }
}
