import { pagingOf } from '../../catalog/page.ts'
import { getPackage } from '../../catalog/get-package.ts'
import type { ContentsOf } from '../../contents/contents.ts'
import { contentsNow } from '../../contents/now.ts'
import type { Handlers } from '../../core/contract.ts'
import type { Queryable } from '../../db/db.ts'
import { listComponents, listUnopened } from './contents.ts'
import type { contents } from './contract.ts'

export interface ContentsRoutesDeps {
  readonly db: Queryable
  readonly contents: Pick<ContentsOf, 'of' | 'known'>
}

export const contentsHandlers: Handlers<typeof contents, ContentsRoutesDeps> = {
  'GET /artifacts/{name}/{version}/components': async (deps, { params, query, viewer }) => {
    const { distribution, arch, ...filter } = query
    const manifest = await getPackage(deps.db, viewer, { ...params, distribution, arch })
    return listComponents(await contentsNow(deps.contents, manifest), manifest.findings, {
      filter,
      paging: pagingOf(query),
    })
  },
  'GET /artifacts/{name}/{version}/unopened': async (deps, { params, query, viewer }) => {
    const { distribution, arch, q } = query
    const manifest = await getPackage(deps.db, viewer, { ...params, distribution, arch })
    return listUnopened(await contentsNow(deps.contents, manifest), { q, paging: pagingOf(query) })
  },
}
