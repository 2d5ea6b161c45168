import type { FindFixes } from '../core/advisories.ts'
import type { Distribution } from '../core/repository.ts'
import type { Db } from '../db/db.ts'
import type { DocumentFiles } from '../files/documents.ts'
import type { Layout } from '../files/layout.ts'
import type { ListedFile, TreeWriter } from '../formats/tree.ts'
import { buildAdvisories } from './advisories.ts'
import { buildContents } from './contents.ts'
import { buildDocuments, readDocuments } from './documents.ts'

export interface ListDeps {
  readonly db: Db
  readonly layout: Pick<Layout, 'trees'>
  /** The advisories that the packages fix; without it none are published. */
  readonly fixes?: FindFixes
  /** The documents of the distribution; without it none are published. */
  readonly documents?: Pick<DocumentFiles, 'read'>
}

/**
 * The files that follow the packages later: file lists, advisories, documents.
 * @param of.before those of the live tree, reused where nothing changed
 */
export async function makeLists(
  { db, layout, fixes, documents }: ListDeps,
  distribution: Distribution,
  { writer, before }: { readonly writer: TreeWriter; readonly before: readonly ListedFile[] },
): Promise<readonly ListedFile[]> {
  const lists: ListedFile[] = []
  for (const plan of writer.contents(distribution)) lists.push(await buildContents({ db, layout }, distribution, plan))
  const stored = documents === undefined ? [] : await readDocuments(db, distribution.codename)
  if (fixes !== undefined)
    lists.push(
      ...(await buildAdvisories(
        { db, layout, fixes },
        distribution,
        writer.advisories?.(distribution) ?? [],
        async ({ kind, arch }) => {
          const put = stored.find(one => one.kind === kind && one.arch === arch)
          return put === undefined ? undefined : (await documents?.read(put))?.toString('utf8')
        },
      )),
    )
  if (documents !== undefined)
    lists.push(
      ...(await buildDocuments({ db, layout, documents }, distribution, { kinds: writer.documents ?? [], before })),
    )
  return lists
}
