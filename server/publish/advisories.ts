import { createHash } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FindFixes } from '../core/advisories.ts'
import type { Distribution } from '../core/repository.ts'
import { relPath } from '../core/identity.ts'
import type { Db } from '../db/db.ts'
import type { Layout } from '../files/layout.ts'
import type { AdvisoryPlan, ListedFile } from '../formats/tree.ts'
import { writeAtomic } from '../lib/atomic.ts'
import { contentsFile } from './contents.ts'
import { readOffered } from '../catalog/queries/entries.ts'
import { ALL_SEEING } from '../core/viewer.ts'

export interface AdvisoryDeps {
  readonly db: Db
  readonly layout: Pick<Layout, 'trees'>
  readonly fixes: FindFixes
}

const pack = promisify(gzip)
const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/**
 * Writes the advisories about packages that fix something, beside the file lists. The same advisories and packages give
 * the same files. @returns none where no advisory applies
 */
export async function buildAdvisories(
  { db, layout, fixes }: AdvisoryDeps,
  distribution: Distribution,
  plans: readonly AdvisoryPlan[],
  put: (document: NonNullable<AdvisoryPlan['takes']>) => Promise<string | undefined> = () => Promise.resolve(undefined),
): Promise<ListedFile[]> {
  if (plans.length === 0) return []
  const { codename, format, archs, neutral } = distribution
  const advisories = await fixes(
    distribution,
    readOffered(db, ALL_SEEING, { codename, format, archs: [...archs, ...neutral] }),
  )
  const files: ListedFile[] = []
  for (const { path, takes, render } of plans) {
    const text = render(advisories, takes === undefined ? undefined : await put(takes))
    if (text === undefined) continue
    const plain = Buffer.from(text)
    const packed = await pack(plain, { level: 9 })
    const sha256 = digest(packed)
    await writeAtomic(contentsFile(layout, codename, sha256), packed)
    files.push({
      path: relPath(join(dirname(path), `${sha256}-${basename(path)}.gz`)),
      size: packed.length,
      sha256,
      plain: { size: plain.length, sha256: digest(plain) },
    })
  }
  return files
}
