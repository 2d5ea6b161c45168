import type { FormatId } from '../core/identity.ts'
import { fail } from '../core/errors.ts'
import { createLookalikes, type OwnedEntry } from '../core/lookalikes.ts'
import { matchesPattern } from '../core/registry-names.ts'
import type { Distribution, SeenRepositories } from '../core/repository.ts'
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

export interface OwnedDeps {
  readonly db: Queryable
  readonly repositories: Pick<SeenRepositories, 'registries'>
}

const kindOf = ({ registry }: Distribution): string => registry?.kind ?? 'hosted'

/** To which registries of a format each of these names belongs, whoever may see them. */
export async function ownersOfEach(
  { db, repositories }: OwnedDeps,
  { format, names }: { readonly format: FormatId; readonly names: readonly string[] },
): Promise<(name: string) => Owners> {
  const keyOf = nameKeyOf(getFormat(format))
  const all = repositories.registries().filter(one => one.format === format)
  const hosted = all.filter(one => kindOf(one) === 'hosted')
  const rows =
    hosted.length === 0 || names.length === 0
      ? []
      : await db.repeat<{ codename: string; key: string }>(
          `select codename, lower(name) as key from registry_owned_name
          where codename = any($1::text[]) and lower(name) = any($2::text[])`,
          [hosted.map(({ codename }) => codename), [...new Set(names.map(keyOf))]],
        )
  const owning = new Map<string, Set<string>>()
  for (const { codename, key } of rows) owning.set(key, (owning.get(key) ?? new Set()).add(codename))
  return name => ({
    hosted: hosted.filter(({ codename }) => owning.get(keyOf(name))?.has(codename) === true),
    reserving: all.filter(({ registry }) =>
      (registry?.reserved ?? []).some(pattern => matchesPattern(keyOf, pattern, name)),
    ),
  })
}

/** To which registries of a format a name belongs, whoever may see them. */
export const ownersOf = async (
  deps: OwnedDeps,
  { format, name }: { readonly format: FormatId; readonly name: string },
): Promise<Owners> => (await ownersOfEach(deps, { format, names: [name] }))(name)

/** Whether a name belongs to the house. */
export const isOwned = ({ hosted, reserving }: Owners): boolean => hosted.length > 0 || reserving.length > 0

/** @throws name_is_ours */
export async function needForeign(
  deps: OwnedDeps,
  { format, name }: { readonly format: FormatId; readonly name: string },
): Promise<void> {
  if (isOwned(await ownersOf(deps, { format, name }))) fail('name_is_ours', { name })
}

/** What names look like. Made anew where names or patterns of the house changed. */
export interface Lookalikes {
  of(format: FormatId): Promise<(name: string) => OwnedEntry | undefined>
}

export function createKnownLookalikes(deps: OwnedDeps): Lookalikes {
  const kept = new Map<FormatId, { readonly mark: string; readonly find: (name: string) => OwnedEntry | undefined }>()
  return {
    async of(format) {
      const all = deps.repositories.registries().filter(one => one.format === format)
      const [row] = await deps.db.repeat<{ n: number; last: Date | null }>(
        'select count(*)::int as n, max(since) as last from registry_owned_name where codename = any($1::text[])',
        [all.map(({ codename }) => codename)],
      )
      const mark = JSON.stringify([row, all.map(({ codename, registry }) => [codename, registry?.reserved])])
      const known = kept.get(format)
      if (known?.mark === mark) return known.find
      const find = await lookalikesOf(deps, format)
      kept.set(format, { mark, find })
      return find
    },
  }
}

/**
 * What names look like, of those that belong to the registries that the caller hands in: their names, and what they
 * reserve.
 */
export async function lookalikesOf(
  { db, repositories }: OwnedDeps,
  format: FormatId,
): Promise<(name: string) => OwnedEntry | undefined> {
  const all = repositories.registries().filter(one => one.format === format)
  const hosted = all.filter(one => kindOf(one) === 'hosted').map(({ codename }) => codename)
  const owned =
    hosted.length === 0
      ? []
      : await db.repeat<{ name: string; owner: string }>(
          'select name, codename as owner from registry_owned_name where codename = any($1::text[]) order by codename, name',
          [hosted],
        )
  const reserved = all.flatMap(({ codename, registry }) =>
    (registry?.reserved ?? []).map(name => ({ name, owner: codename })),
  )
  return createLookalikes([...owned, ...reserved], nameKeyOf(getFormat(format)))
}
