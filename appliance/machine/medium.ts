import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { MediumView } from '../../server/machine/protocol.ts'
import { catalogue } from './catalogue.ts'

/**
 * Looks at a stick that `/usr/lib/gatehouse/medium` has mounted, and writes its catalogue. Runs with the rights of the
 * daemon: what it cannot read, the daemon cannot.
 * @param state  a file of that script: `id`, `label`, `file_system`, `device` and `path`, one a line
 */
export async function writeCatalogue(state: string, folder: string): Promise<MediumView> {
  const known = new Map(
    (await readFile(state, 'utf8')).split('\n').map((line): [string, string] => {
      const [name = '', ...rest] = line.split('=')
      return [name, rest.join('=')]
    }),
  )
  const of = (name: string): string => known.get(name) ?? ''
  const path = of('path')
  const [{ files, said }, { blocks, bsize }] = await Promise.all([catalogue(path), statfs(path)])
  const view: MediumView = {
    id: of('id'),
    label: of('label'),
    device: of('device'),
    file_system: of('file_system'),
    size: blocks * bsize,
    path,
    files: [...files],
    said: said === '' && files.length === 0 ? 'Nothing that is of use here is on it.' : said,
  }
  await mkdir(folder, { recursive: true })
  const part = join(folder, `${view.id}.new`)
  try {
    await writeFile(part, JSON.stringify(view))
    await rename(part, join(folder, `${view.id}.json`))
  } finally {
    await rm(part, { force: true })
  }
  return view
}

if (import.meta.main) {
  const [state = '', folder = ''] = process.argv.slice(2)
  // another device that shows the same file system has none
  if (existsSync(state)) {
    const { label, files, said } = await writeCatalogue(state, folder)
    process.stdout.write(/* @wc-ignore */ `${label}: files of use here: ${files.length}. ${said}\n`)
  }
}
