import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Root } from '../../server/imports/resolve/closure.ts'
import { findProgram, run } from '../support/tools.ts'
import type { Stanza } from './closure-check.ts'

/** The packages that dose-debcheck finds uninstallable; undefined where it is not installed. */
export async function findUninstallable(stanzas: Iterable<Stanza>): Promise<readonly Root[] | undefined> {
  if (findProgram('dose-debcheck') === undefined) return undefined
  const folder = await mkdtemp(join(tmpdir(), 'gh-dose-'))
  try {
    const file = join(folder, 'Packages')
    await writeFile(file, [...stanzas].map(({ text }) => `${text.trim()}\n\n`).join(''))
    const { out, err } = await run('dose-debcheck', ['--failures', '--deb-native-arch=amd64', file])
    if (!/^total-packages:/m.test(out)) throw new Error(`dose-debcheck gave no report: ${err}`)
    return [...out.matchAll(/^ +package: (\S+)\n +version: (\S+)\n(?: +.*\n)*? +status: broken$/gm)].map(
      ([, name = '', version = '']) => ({ name, version }),
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
