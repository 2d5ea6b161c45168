import type { Part } from '../core/feature.ts'
import type { Codename } from '../core/identity.ts'
import type { Db } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'

/** Marks the trees for signing when the set of keys changes. */
export interface KeyFollower extends Part {
  /**
   * Owes every tree if the keys differ from those that signed it, also when they changed while the service was stopped.
   */
  follow(): Promise<void>
  /** Owes every published tree. */
  oweTrees(): Promise<void>
}

/** Follows the keys: those whose overlap is over are retired by the clock. */
export function createKeyFollower({
  db,
  outbox,
  keyring,
}: {
  readonly db: Db
  readonly outbox: Pick<Outbox, 'owe' | 'nudge'>
  /** `publish` writes the public files from the keyring; true when they changed. */
  readonly keyring: { publish(): Promise<boolean> }
}): KeyFollower {
  async function oweTrees(): Promise<void> {
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

  async function follow(): Promise<void> {
    if (await keyring.publish()) await oweTrees()
  }

  return {
    follow,
    oweTrees,
    jobs: [
      {
        id: 'keys',
        name: 'Retire signing keys whose overlap is over',
        when: () => '*/5 * * * *',
        run: follow,
      },
    ],
  }
}
