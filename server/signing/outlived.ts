import type { Part } from '../core/feature.ts'
import type { Queryable } from '../db/db.ts'
import type { Keyring } from './signer.ts'

/** Watches for packages that outlive the key they are signed with: clients that know only the newer one refuse them. */
export interface Outlived extends Part {
  /** Looks into the database; costs what is published. */
  look(): Promise<void>
  /** What an admin is to know of it, as of the last look; empty when every signature is of the current key. */
  warnings(): readonly string[]
}

interface Signed {
  readonly codename: string
  readonly key: string
  readonly packages: number
}

/** Looks for published packages whose signature outlives, or soon will, the key that made it. */
export function createOutlived({
  db,
  keyring,
}: {
  readonly db: Queryable
  readonly keyring: Pick<Keyring, 'keys'>
}): Outlived {
  let said: readonly string[] = []
  async function look(): Promise<void> {
    const keys = new Map((await keyring.keys()).map(key => [key.fingerprint, key]))
    const signed = await db.query<Signed>(`
        select codename, file->'signed'->>'key' as key, count(distinct id)::int as packages
      from package, jsonb_array_elements(manifest->'files') as file
      where state = 'published' and file ? 'signed' group by 1, 2 order by 1, 2`)
    said = signed.flatMap(({ codename, key, packages }) => {
      const card = keys.get(key)
      if (card !== undefined && card.retires_at === undefined) return []
      const when = card?.retires_at === undefined ? 'is retired' : `retires on ${card.retires_at.slice(0, 10)}`
      return [
        `Packages of ${codename} (${packages}) are signed with the key ${key.slice(-16)}, which ${when}: clients that know only the newer key refuse them. Delete them and upload them again.`,
      ]
    })
  }

  return {
    look,
    warnings: () => said,
    jobs: [
      {
        id: 'package-keys',
        name: 'Look for packages that outlive the key they are signed with',
        when: () => '35 * * * *',
        run: look,
      },
    ],
  }
}
