import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { mainOf, type Distribution } from '../core/repository.ts'
import type { Codename } from '../core/identity.ts'
import type { Db } from '../db/db.ts'
import type { Layout } from '../files/layout.ts'
import type { ContentsPlan, ListedFile } from '../formats/tree.ts'
import { readContents } from '../catalog/queries/entries.ts'
import { ALL_SEEING } from '../core/viewer.ts'

/**
 * File lists and advisories are kept between generations by their digest, hard-linked into each generation that names
 * them.
 */
export const contentsFile = (layout: Pick<Layout, 'trees'>, codename: Codename, sha256: string): string =>
  join(layout.trees, codename, 'contents', sha256)

/** Writes one list of all files, compressed, streaming: memory stays small whatever the distribution holds. */
export async function buildContents(
  { db, layout }: { readonly db: Db; readonly layout: Pick<Layout, 'trees'> },
  distribution: Distribution,
  { arch, component, path }: ContentsPlan,
): Promise<ListedFile> {
  const folder = join(layout.trees, distribution.codename, 'contents')
  await mkdir(folder, { recursive: true })
  const part = join(folder, `.${randomBytes(6).toString('hex')}.part`)
  const gz = createGzip({ level: 6 })
  const sha256 = createHash('sha256')
  let size = 0
  const written = pipeline(
    gz,
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        size += chunk.length
        sha256.update(chunk)
        yield chunk
      }
    },
    createWriteStream(part),
  )
  written.catch(() => undefined) // asked below, and meanwhile a full disk is no reason to end the process
  try {
    await readContents(
      db,
      ALL_SEEING,
      {
        codename: distribution.codename,
        format: distribution.format,
        archs: [arch, ...distribution.neutral],
        component: { name: component, first: mainOf(distribution) },
      },
      async lines => {
        // after a failed write there is no 'drain' event
        if (!gz.write(`${lines.join('\n')}\n`)) await Promise.race([once(gz, 'drain'), written])
      },
    )
    gz.end()
    await written
    const digest = sha256.digest('hex')
    await rename(part, contentsFile(layout, distribution.codename, digest))
    return { path, size, sha256: digest }
  } catch (error) {
    gz.destroy()
    await written.catch(() => undefined) // it holds the file until then
    await rm(part, { force: true })
    throw error
  }
}
