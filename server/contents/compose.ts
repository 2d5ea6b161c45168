import { join } from 'node:path'
import type { Layout } from '../files/layout.ts'
import type { Pool } from '../files/pool.ts'
import { getFormat } from '../formats/index.ts'
import { createContents, type ContentsDeps, type ContentsOf } from './contents.ts'

export interface ContentsNeeds extends Pick<ContentsDeps, 'javaNames'> {
  readonly layout: Pick<Layout, 'security' | 'incoming'>
  readonly pool: Pick<Pool, 'locate'>
  /** The version of this program. */
  readonly version: string
}

/** What packages carry, with its cache below `security/`. */
export function composeContents({ layout, pool, version, javaNames }: ContentsNeeds): ContentsOf {
  const { security, incoming } = layout
  return createContents({ pool, formats: getFormat, folder: join(security, 'contents'), incoming, version, javaNames })
}
