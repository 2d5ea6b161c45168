import { isKept, type State } from '../core/manifest.ts'
import { NOTHING, type Contents } from './component.ts'
import type { Carrier, ContentsOf } from './contents.ts'

/** Of a package that the job has not come to, or whose bytes are not in the pool. */
export const UNREAD: Contents = { ...NOTHING, cut: 'What it carries has not been read.' }

/**
 * What a package carries; reads it where nobody has. Of a refused package, whose bytes are not in the pool, what is
 * kept, else `UNREAD`. @throws bad_package
 */
export async function contentsNow(
  contents: Pick<ContentsOf, 'of' | 'known'>,
  carrier: Carrier & { readonly state: State },
): Promise<Contents> {
  const known = await contents.known(carrier)
  if (known !== undefined || !isKept(carrier.state)) return known ?? UNREAD
  return contents.of(carrier, new AbortController().signal)
}
