import { readFile } from 'node:fs/promises'
import { writeAtomic } from '../../lib/atomic.ts'
import { createVulndbLayout } from '../store/layout.ts'

/**
 * The last answer of a feed's address: its validators for the next request, and when it last confirmed what is current.
 */
export interface FeedState {
  readonly etag?: string
  readonly last_modified?: string
  /** The source that it feeds. */
  readonly source: string
  /** ISO 8601. */
  readonly checked_at: string
  readonly error?: string
}
export type FeedStates = Readonly<Record<string, FeedState>>

/** The last answer of each feed, by its address. */
export async function loadFeedStates(security: string): Promise<FeedStates> {
  const text = await readFile(createVulndbLayout({ security }).feeds, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw error
  })
  try {
    return JSON.parse(text) as FeedStates
  } catch {
    return {} // a damaged file costs one more download
  }
}

/** Keeps the last answer of each feed. */
export async function saveFeedStates(security: string, states: FeedStates): Promise<void> {
  await writeAtomic(createVulndbLayout({ security }).feeds, `${JSON.stringify(states, null, 2)}\n`)
}
