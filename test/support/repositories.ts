import { DEFAULT_DISTRIBUTIONS } from '../../server/core/default-distributions.ts'
import { createRepositories, type Distribution } from '../../server/core/repository.ts'
import { createLayout, type Layout } from '../../server/files/layout.ts'
import { treeFolders } from '../../server/formats/tree-folders.ts'
import { FORMATS } from '../../server/formats/index.ts'

/** The default set, as tests meet it that add none of their own. */
export const repositories = createRepositories(DEFAULT_DISTRIBUTIONS)
export const DISTRIBUTIONS: readonly Distribution[] = DEFAULT_DISTRIBUTIONS
export const getDistribution = (codename: string): Distribution => repositories.get(codename)

/** The paths below one root, with the default set. */
export const layoutOf = (root: string): Layout => createLayout(root, treeFolders({ repositories, formats: FORMATS }))
