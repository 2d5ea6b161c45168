import type { Repositories } from '../core/repository.ts'
import type { TreeFolder } from '../files/layout.ts'
import type { Format } from './format.ts'
import { formatsIn, siteOf } from './index.ts'

/** Says where the trees of distributions lie, by the sites of their formats. */
export function treeFolders({
  repositories,
  formats,
}: {
  readonly repositories: Pick<Repositories, 'get'>
  readonly formats: readonly Format[]
}): TreeFolder {
  const getFormat = formatsIn(formats)
  return codename => siteOf(getFormat(repositories.get(codename).format)).folder
}
