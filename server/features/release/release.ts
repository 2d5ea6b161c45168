import type { Distribution, SeenRepositories } from '../../core/repository.ts'
import { fail } from '../../core/errors.ts'
import { renewAt, type ReleaseFields } from '../../core/release-fields.ts'
import type { Db, Queryable } from '../../db/db.ts'
import type { Outbox } from '../../db/outbox.ts'
import { readWords } from '../../publish/store.ts'
import type { Publisher } from '../../publish/publisher.ts'
import type { Audit } from '../../record/audit.ts'

export interface ReleaseDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'owe'>
  readonly outbox: Pick<Outbox, 'owe' | 'nudge'>
  readonly publisher: Pick<Publisher, 'root'>
  readonly repositories: Pick<SeenRepositories, 'need'>
  /** Whether clients of the distribution read a Release file. */
  readonly knowsWords: (distribution: Distribution) => boolean
}

/** The Release fields of a distribution. Dates are those of the live root. */
export interface ReleaseCard extends ReleaseFields {
  readonly codename: string
  readonly valid_until: string | null
  readonly renew_at: string | null
}

async function saveWords(tx: Queryable, codename: string, words: ReleaseFields): Promise<void> {
  await tx.query(
    `insert into distribution (codename, not_automatic, but_automatic_upgrades, valid_days) values ($1, $2, $3, $4)
    on conflict (codename) do update set not_automatic = $2, but_automatic_upgrades = $3, valid_days = $4`,
    [codename, words.not_automatic, words.but_automatic_upgrades, words.valid_days],
  )
}

/** @throws distribution_not_found */
export async function readRelease({ db, publisher, repositories }: ReleaseDeps, name: string): Promise<ReleaseCard> {
  const { codename } = repositories.need(name)
  const [words, root] = await Promise.all([readWords(db, codename), publisher.root(codename)])
  const { at, until } = root ?? {}
  return {
    codename,
    ...words,
    valid_until: until?.toISOString() ?? null,
    renew_at: at === undefined || until === undefined ? null : renewAt({ at, until }).toISOString(),
  }
}

/**
 * Changes the words and has the root signed again.
 * @throws distribution_not_found, no_release_words, bad_release_words
 */
export async function changeRelease(
  deps: ReleaseDeps,
  name: string,
  { by, ip, ...wish }: Partial<ReleaseFields> & { readonly by: string; readonly ip: string },
): Promise<ReleaseCard> {
  const distribution = deps.repositories.need(name)
  const { codename, format } = distribution
  if (!deps.knowsWords(distribution)) fail('no_release_words', { codename, format })
  await deps.db.tx(async tx => {
    const words = { ...(await readWords(tx, codename)), ...wish }
    // apt ignores ButAutomaticUpgrades without NotAutomatic
    if (words.but_automatic_upgrades && !words.not_automatic) fail('bad_release_words', { codename })
    await saveWords(tx, codename, words)
    await deps.audit.owe(tx, {
      action: 'RELEASE_CHANGE',
      result: 'SUCCESS',
      user: by,
      ip,
      distribution: codename,
      facts: { kind: 'release.changed', ...words },
    })
    await deps.outbox.owe(tx, `root:${codename}`)
  })
  deps.outbox.nudge()
  return readRelease(deps, codename)
}
