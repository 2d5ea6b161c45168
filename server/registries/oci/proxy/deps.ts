import type { OciDeps } from '../deps.ts'
import type { Ages } from './ages.ts'
import type { Parts } from './parts.ts'
import type { FarTags, Lacking } from './tags.ts'
import type { OciUpstream } from './upstream.ts'

/** What the answers of a registry that reads through are made with. */
export interface ProxyDeps extends OciDeps {
  readonly far: OciUpstream
  readonly tags: FarTags
  readonly lacking: Lacking
  readonly parts: Parts
  readonly ages: Ages
}
