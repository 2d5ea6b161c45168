import type { PackageKind } from '../core/manifest.ts'
import type { Distribution } from '../core/repository.ts'
import type { IndexPlan, TreeWriter } from '../formats/tree.ts'
import type { Pieces } from './indexes.ts'

/** The packages of one kind for one architecture in one component, with their indexes. */
export interface TreePart {
  readonly component: string
  readonly arch: string
  readonly kind: PackageKind
  readonly plans: readonly IndexPlan[]
}

/** The indexes of a tree by component, architecture and kind. */
export function treeParts(writer: Pick<TreeWriter, 'indexes'>, distribution: Distribution): readonly TreePart[] {
  const groups = Map.groupBy(writer.indexes(distribution), ({ component, arch, kind = 'binary' }) =>
    [component, arch, kind].join('/'),
  )
  return [...groups.values()].flatMap(plans => {
    const [first] = plans
    if (first === undefined) return []
    const { component, arch, kind = 'binary' } = first
    return [{ component, arch, kind, plans }]
  })
}

/** True when the state has the pieces of exactly the indexes that the tree has now. */
export function hasEveryIndex(
  writer: Pick<TreeWriter, 'indexes'>,
  distribution: Distribution,
  pieces: Pieces,
): boolean {
  const ids = writer.indexes(distribution).map(({ id }) => id)
  return ids.length === Object.keys(pieces).length && ids.every(id => pieces[id] !== undefined)
}
