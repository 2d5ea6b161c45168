import { fail } from '../core/errors.ts'
import type { Codename } from '../core/identity.ts'
import type { Distribution, Repositories } from '../core/repository.ts'
import type { Queryable } from './db.ts'

const keyOf = (codename: Codename): string => `distribution ${codename}`

/** Until the transaction ends, nothing can be added to the distribution: it is about to be changed or removed. */
export async function lockDistribution(tx: Queryable, codename: Codename): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [keyOf(codename)])
}

/**
 * Until the transaction ends, the distribution stays what this returns. Call it before a row is written that names the
 * distribution. @throws distribution_not_found when it was removed
 */
export type HoldDistribution = (tx: Queryable, codename: Codename) => Promise<Distribution>

/** Holds distributions of the default set and an admin's own. */
export function createHold(repositories: Pick<Repositories, 'find'>): HoldDistribution {
  return async (tx, codename) => {
    await tx.repeat('select pg_advisory_xact_lock_shared(hashtextextended($1, 0))', [keyOf(codename)])
    // a statement of its own: it sees what was committed while the one before waited
    const [row] = await tx.repeat<{ definition: Distribution }>(
      'select definition from distribution_definition where codename = $1',
      [codename],
    )
    if (row !== undefined) return row.definition
    const known = repositories.find(codename)
    return known?.builtin === true ? known : fail('distribution_not_found', { codename })
  }
}
