import { ApiProblem, call, sentence } from '../../../api.ts'
import { readAll } from '../../../export.ts'
import type { Reply } from '../../../wire.ts'
import { componentsOf, type Two } from './two.ts'

type Compared = Reply<'GET /artifacts/{name}/{version}/compare'>
type Files = readonly Reply<'GET /artifacts/{name}/{version}/compare/files'>['items'][number][]

/** The files that differ, as far as they could be had. */
export interface ListedFiles {
  readonly files: Files
  /** Why files are missing, a sentence each. */
  readonly missing: readonly string[]
}

/** A row for each difference, and one for everything that could not be compared. */
export function exportOf(all: Compared, { files, missing }: ListedFiles): readonly object[] {
  const rows = (kind: string, lists: { readonly added: readonly string[]; readonly removed: readonly string[] }) => [
    ...lists.removed.map(what => ({ kind, change: 'removed', what })),
    ...lists.added.map(what => ({ kind, change: 'added', what })),
  ]
  const { findings, install, components } = all
  const partly = (kind: string, why: readonly (string | undefined)[]) =>
    why.flatMap(what => (what === undefined ? [] : [{ kind, change: 'unknown', what }]))
  return [
    ...rows('finding', { added: findings.added.map(it => it.id), removed: findings.removed.map(it => it.id) }),
    ...rows('dependency', all.dependencies),
    ...rows('provides', all.provides),
    ...rows('conflict', all.conflicts),
    ...(components === null ? [] : rows('component', componentsOf(components))),
    ...(install === null
      ? []
      : [
          ...rows('script', install.scripts),
          ...install.scripts.changed.map(what => ({ kind: 'script', change: 'changed', what })),
          ...rows('installing', {
            added: install.facts.added.map(it => it.said),
            removed: install.facts.removed.map(it => it.said),
          }),
          ...rows('host', install.hosts),
          ...rows('listens', install.listens),
        ]),
    ...files.map(({ path, change, differs, before, after }) => ({
      kind: 'file',
      change,
      what: path,
      differs: differs.join('; '),
      sha256_before: before?.sha256 ?? null,
      sha256_after: after?.sha256 ?? null,
      ...(change === 'uncompared' ? { unread: before?.unread ?? after?.unread } : {}),
    })),
    ...partly('component', [components?.cut]),
    ...partly('installing', [install?.cut]),
    ...partly('file', missing),
    ...partly('unknown', all.unknown),
  ].map(row => ({ name: all.after.name, before: all.before.version, after: all.after.version, ...row }))
}

/** The files that differ; where they cannot be had, why. */
async function listFiles({ params, query }: Two): Promise<ListedFiles> {
  const cuts = new Set<string>()
  try {
    const files = await readAll(async page => {
      const list = await call('GET /artifacts/{name}/{version}/compare/files', {
        params,
        query: { ...query, page, per_page: 500 },
      })
      if (list.cut !== undefined) cuts.add(list.cut)
      return list
    })
    return { files, missing: [...cuts] }
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error
    return { files: [], missing: [sentence(error)] }
  }
}

/** Reads everything that an export holds. @throws ApiProblem where the versions cannot be compared at all */
export async function readRows(two: Two): Promise<readonly object[]> {
  const all = await call('GET /artifacts/{name}/{version}/compare', two)
  return exportOf(all, await listFiles(two))
}
