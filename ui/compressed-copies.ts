import { promises as fs } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Plugin } from 'vite'

/** Smaller files fit into few packets as they are. Fonts are compressed already. */
const LEAST_BYTES = 1_400
const TEXT = /\.(?:html|js|css|svg)$/

async function writeCopies(path: string): Promise<void> {
  const bytes = await fs.readFile(path)
  if (bytes.length < LEAST_BYTES) return
  const [small, smaller] = await Promise.all([
    promisify(gzip)(bytes, { level: 9 }),
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
  ])
  await Promise.all([fs.writeFile(`${path}.gz`, small), fs.writeFile(`${path}.br`, smaller)])
}

/**
 * Writes `FILE.br` and `FILE.gz` beside each text file of the build, for whoever serves it: compressing happens once,
 * not for each request.
 */
export function compressedCopies(): Plugin {
  return {
    name: 'gatehouse-compressed-copies',
    apply: 'build',
    async writeBundle({ dir }, bundle) {
      if (dir === undefined) return
      for (const name of Object.keys(bundle)) if (TEXT.test(name)) await writeCopies(join(dir, name))
    },
  }
}
