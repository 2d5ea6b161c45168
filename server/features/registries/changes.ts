import { countParts } from '../../catalog/queries/distributions.ts'
import { fail } from '../../core/errors.ts'
import type { Distribution, Repositories } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Db, Tx } from '../../db/db.ts'
import { lockDistribution } from '../../db/distribution-lock.ts'
import type { Outbox } from '../../db/outbox.ts'
import type { Definitions } from '../../files/definitions.ts'
import type { Clock } from '../../lib/clock.ts'
import type { KeyedLock } from '../../lib/keyed-lock.ts'
import type { Audit } from '../../record/audit.ts'

export interface ChangeDeps {
  readonly db: Db
  readonly repositories: Repositories
  readonly definitions: Definitions
  readonly audit: Pick<Audit, 'owe'>
  readonly outbox: Pick<Outbox, 'owe' | 'nudge'>
  readonly clock: Clock
  /** One change at a time: each is made to what the one before left. */
  readonly lock: KeyedLock
}

/** Who makes a change. */
export interface By {
  readonly name: string
  readonly ip: string
}

/** What is kept by its name beside packages; a later registry of the name must not find it. The access rule stays. */
const TABLES = ['retention', 'pin'] as const

/** The file of the definitions is written again, also after a crash. */
const oweFile = (tx: Tx, { outbox }: Pick<ChangeDeps, 'outbox'>, { format, codename }: Distribution) =>
  outbox.owe(tx, `distribution:${format}/${codename}`)

async function forget(tx: Tx, codename: string): Promise<void> {
  for (const table of TABLES) await tx.query(`delete from ${table} where codename = $1`, [codename])
}

/** Tells the other parts, and other replicas, once it is committed. */
async function follow({ repositories, definitions, outbox }: ChangeDeps): Promise<void> {
  repositories.replace(await definitions.settle())
  outbox.nudge()
}

/** @throws distribution_exists where somebody else took the name meanwhile */
export async function save(
  deps: ChangeDeps,
  one: Distribution,
  { by, kind }: { readonly by: By; readonly kind: 'added' | 'changed' },
): Promise<void> {
  const { db, definitions, audit, clock } = deps
  const { codename, format, label, state } = one
  await db.tx(async tx => {
    await lockDistribution(tx, codename)
    const there = await tx.first('select 1 as one from distribution_definition where codename = $1', [codename])
    if (kind === 'added' && there !== undefined) fail('distribution_exists', { codename })
    await oweFile(tx, deps, one)
    if (kind === 'added') await forget(tx, codename)
    await definitions.save(tx, one, by.name, clock.now())
    await audit.owe(tx, {
      action: 'DISTRIBUTION_CHANGE',
      result: 'SUCCESS',
      user: by.name,
      ip: by.ip,
      distribution: codename,
      facts: kind === 'added' ? { kind: 'registry.added', format } : { kind: 'registry.changed', label, state },
    })
  })
  await follow(deps)
}

/** @throws registry_in_use */
export async function remove(deps: ChangeDeps, one: Distribution, by: By): Promise<void> {
  const { db, definitions, audit } = deps
  const { codename, format } = one
  await db.tx(async tx => {
    await lockDistribution(tx, codename)
    const versions = (await countParts(tx, ALL_SEEING, codename)).reduce((sum, part) => sum + part.packages, 0)
    if (versions > 0) fail('registry_in_use', { name: codename, versions })
    await definitions.remove(tx, codename)
    await forget(tx, codename)
    await oweFile(tx, deps, one)
    await audit.owe(tx, {
      action: 'DISTRIBUTION_CHANGE',
      result: 'SUCCESS',
      user: by.name,
      ip: by.ip,
      distribution: codename,
      facts: { kind: 'registry.removed', format },
    })
  })
  await follow(deps)
}
