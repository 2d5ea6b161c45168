import { join } from 'node:path'
import type { Layout } from '../files/layout.ts'
import type { Pool } from '../files/pool.ts'
import { createContents, type ContentsDeps, type ContentsOf } from './contents.ts'
import { createReading } from './reading.ts'

export interface ContentsNeeds extends Pick<ContentsDeps, 'javaNames'> {
  readonly settings: { now(): { readonly validation: { readonly contents_cpu_seconds: number } } }
  readonly layout: Pick<Layout, 'security' | 'incoming'>
  readonly pool: Pick<Pool, 'locate'>
  /** The version of this program. */
  readonly version: string
}

/** What packages carry, with its cache below `security/`. */
export function composeContents({ layout, pool, settings, version, javaNames }: ContentsNeeds): ContentsOf {
  const { security, incoming } = layout
  const cpuSeconds = (): number => settings.now().validation.contents_cpu_seconds
  return createContents({
    pool,
    reading: createReading({ incoming, cpuSeconds }),
    cpuSeconds,
    folder: join(security, 'contents'),
    version,
    javaNames,
  })
}
