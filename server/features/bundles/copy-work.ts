import { createReadStream } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../../core/errors.ts'
import type { WorkKind } from '../../core/work.ts'
import type { Layout } from '../../files/layout.ts'
import { madeFile } from '../../imports/bundle/make.ts'
import { BUNDLE_ENDING } from '../../imports/bundle/manifest.ts'
import { steadily } from '../../imports/bundle/steadily.ts'
import { fsyncFolder } from '../../lib/atomic.ts'
import { systemErrorInWords } from '../../lib/system-errors.ts'

export const COPY = 'bundle-copy'

export interface CopyRequest {
  readonly name: string
  readonly directory: string
}

/** Writes a bundle to a medium; it has its name there only once it is whole and on the medium. */
export const copyWork = ({
  layout,
}: {
  readonly layout: Pick<Layout, 'bundles'>
}): WorkKind<CopyRequest, never, { readonly path: string; readonly size: number }> => ({
  kind: COPY,
  name: 'Write a bundle to a medium',
  see: 'maintainer+',
  cancel: 'maintainer+',
  run: async ({ signal, step }, { name, directory }) => {
    const from = madeFile(layout, name)
    const path = join(directory, `${name}${BUNDLE_ENDING}`)
    const part = `${path}.part`
    try {
      const { size: totalBytes } = await stat(from)
      const told = steadily(bytes => step({ bytes, totalBytes }))
      await rm(part, { force: true })
      const handle = await open(part, 'wx', 0o640)
      try {
        let bytes = 0
        for await (const chunk of createReadStream(from, { highWaterMark: 2 ** 20 }) as AsyncIterable<Buffer>) {
          signal.throwIfAborted()
          await handle.writeFile(chunk)
          await told((bytes += chunk.length))
        }
        await handle.sync()
      } finally {
        await handle.close()
      }
      await rename(part, path)
      await fsyncFolder(directory)
      await step({ bytes: totalBytes, totalBytes })
      return { path, size: totalBytes }
    } catch (error) {
      await rm(part, { force: true }).catch(() => undefined) // why it went wrong matters more
      const why = systemErrorInWords(error)
      if (why === undefined) throw error
      return fail('bundle_place_refused', { path: directory, why }, error)
    }
  },
})
