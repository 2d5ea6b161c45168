import type { FormatId } from '../core/identity.ts'
import { matchesPattern } from '../core/registry-names.ts'
import type { Distribution, Repositories } from '../core/repository.ts'
import type { Queryable } from '../db/db.ts'
import { getFormat } from '../formats/index.ts'
import { nameKeyOf } from '../formats/registry-client.ts'

/** The registries to which a name belongs: nobody looks for it outside. */
export interface Owners {
  /** Hosted ones that have a version of it, in any state, or ever had one. */
  readonly hosted: readonly Distribution[]
  /** Those that reserve it by a pattern. */
  readonly reserving: readonly Distribution[]
}

const kindOf = ({ registry }: Distribution): string => registry?.kind ?? 'hosted'

/** To which registries of a format a name belongs, whoever may see them. */
export async function ownersOf(
  { db, repositories }: { readonly db: Queryable; readonly repositories: Pick<Repositories, 'registries'> },
  { format, name }: { readonly format: FormatId; readonly name: string },
): Promise<Owners> {
  const keyOf = nameKeyOf(getFormat(format))
  const all = repositories.registries().filter(one => one.format === format)
  const hosted = all.filter(one => kindOf(one) === 'hosted')
  const rows =
    hosted.length === 0
      ? []
      : await db.repeat<{ codename: string }>(
          'select distinct codename from registry_owned_name where codename = any($1::text[]) and lower(name) = $2',
          [hosted.map(({ codename }) => codename), keyOf(name)],
        )
  const owning = new Set(rows.map(({ codename }) => codename))
  return {
    hosted: hosted.filter(({ codename }) => owning.has(codename)),
    reserving: all.filter(({ registry }) =>
      (registry?.reserved ?? []).some(pattern => matchesPattern(keyOf, pattern, name)),
    ),
  }
}

/** Whether a name belongs to the house. */
export const isOwned = ({ hosted, reserving }: Owners): boolean => hosted.length > 0 || reserving.length > 0
