import { fail } from '../../core/errors.ts'
import type { Distribution, Repositories } from '../../core/repository.ts'
import type { Viewer } from '../../core/viewer.ts'

/** A registry that the viewer sees. @throws registry_not_found */
export function needRegistry(repositories: Pick<Repositories, 'seenBy'>, viewer: Viewer, name: string): Distribution {
  const one = repositories.seenBy(viewer).find(name)
  return one?.kind === 'registry' ? one : fail('registry_not_found', { name: name.slice(0, 80) })
}
