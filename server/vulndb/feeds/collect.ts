import { mkdir, readFile, rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { relPath } from '../../core/identity.ts'
import { writeAtomic } from '../../lib/atomic.ts'
import type { ImportFile } from '../read/run.ts'
import { createFeeds, listFeeds, type FeedsDeps, type FeedsRun } from './feeds.ts'

/** Files of the feeds as their upstreams serve them, for sites that cannot fetch them. */
export interface Collected {
  readonly files: readonly ImportFile[]
  readonly failed: FeedsRun['failed']
}

/** @returns undefined where no feeds are set */
export type CollectFeeds = (signal: AbortSignal, told: () => Promise<void>) => Promise<Collected | undefined>

type Kept = Readonly<Record<string, Omit<ImportFile, 'path' | 'label'>>>

/**
 * Keeps the newest file of each feed below `<security>/collected`; what has not changed is not fetched again. They are
 * apart from what is loaded here, whose files are not kept.
 */
export function createCollecting(deps: Omit<FeedsDeps, 'importer'>): CollectFeeds {
  const { addresses, repositories, clock } = deps
  const security = join(deps.security, 'collected')
  const listFile = join(security, 'files.json')
  const pathOf = (label: string): string => join(security, 'files', relPath(label))

  const readKept = async (): Promise<Kept> =>
    readFile(listFile, 'utf8').then(
      text => JSON.parse(text) as Kept,
      () => ({}), // fetched again
    )

  async function keep(files: readonly ImportFile[]): Promise<void> {
    const kept: Record<string, Omit<ImportFile, 'path' | 'label'>> = { ...(await readKept()) }
    for (const { path, label, ...about } of files) {
      await mkdir(dirname(pathOf(label)), { recursive: true })
      await rename(path, pathOf(label))
      kept[label] = about
    }
    await writeAtomic(listFile, JSON.stringify(kept))
  }

  const feeds = createFeeds({
    ...deps,
    security,
    importer: {
      import: async files => {
        await keep(files)
        return { status: 'unchanged', generation: 0, took_ms: 0, signature: 'none', sources: [], notes: [], others: [] }
      },
    },
  })

  return async (signal, told) => {
    if (!feeds.isConfigured()) return undefined
    const { failed } = await feeds.run({ signal, told })
    const kept = await readKept()
    const labels = new Set(listFeeds(addresses(), repositories, clock.now().getUTCFullYear()).map(({ label }) => label))
    const files: ImportFile[] = []
    for (const [label, about] of Object.entries(kept)) {
      const path = pathOf(label)
      const isThere = await stat(path).then(
        found => found.isFile(),
        () => false,
      )
      if (labels.has(label) && isThere) files.push({ path, label, ...about })
    }
    return { files, failed }
  }
}
