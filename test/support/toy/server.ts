import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..', '..')

async function edit(path: string, change: (text: string) => string): Promise<void> {
  const before = await readFile(path, 'utf8')
  const after = change(before)
  expect(after, path).not.toBe(before)
  await writeFile(path, after)
}

/** The server with the folder of the toy format and its line in the list of formats; the console unchanged. */
export async function copyWithToy(): Promise<{ readonly entry: string; remove(): Promise<void> }> {
  const copy = await mkdtemp(join(tmpdir(), 'gh-toy-'))
  await cp(join(ROOT, 'server'), join(copy, 'server'), { recursive: true })
  await cp(join(ROOT, 'package.json'), join(copy, 'package.json'))
  for (const name of ['node_modules', 'ui']) await symlink(join(ROOT, name), join(copy, name))
  const formats = join(copy, 'server', 'formats')
  await mkdir(join(formats, 'toy'))
  await cp(join(import.meta.dirname, 'index.ts'), join(formats, 'toy', 'index.ts'))
  await edit(join(formats, 'toy', 'index.ts'), text => text.replaceAll('../../../server/', '../../'))
  await edit(join(formats, 'index.ts'), text =>
    text.replace(
      'FORMATS: readonly Format[] = [',
      'FORMATS: readonly Format[] = [(await import("./toy/index.ts")).toy, ',
    ),
  )
  return {
    entry: join(copy, 'server', 'main.ts'),
    remove: () => rm(copy, { recursive: true, force: true }),
  }
}
