import type { Changed } from '../../catalog/change.ts'
import { namedVersion } from '../../catalog/view.ts'
import { NOT_YET_INDEXED, whatClientsSee, type State } from '../../core/manifest.ts'

const FOLLOW_MS = 30_000

/** What became of a package. Waits until clients see it; what was decided stands in any case. */
export async function movedView(changed: Changed, before: State) {
  const indexed = await changed.settled(FOLLOW_MS).catch(() => false)
  const { state } = changed.manifest
  return {
    ...namedVersion(changed.manifest),
    previous_status: before,
    published: indexed && state === 'published',
    publication: state === 'published' && !indexed ? NOT_YET_INDEXED : whatClientsSee(state),
    updated_at: changed.manifest.changed_at,
  }
}
