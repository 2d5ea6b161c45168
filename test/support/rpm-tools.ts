import { mkdtemp, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mustRun, run } from './tools.ts'

/**
 * Has rpmbuild make what a spec file says, for x86_64, in a new folder below this one.
 * @param what  `-bs` for the source package alone
 * @returns the paths of the packages it built
 */
export async function rpmbuild(
  folder: string,
  spec: string,
  { defines = {}, what = '-bb' }: { readonly defines?: Readonly<Record<string, string>>; readonly what?: string } = {},
): Promise<string[]> {
  const top = await mkdtemp(join(folder, 'top-'))
  await writeFile(join(top, 'p.spec'), spec)
  await mustRun(
    'rpmbuild',
    [
      what,
      '--target',
      'x86_64',
      ...Object.entries({ _topdir: top, _build_id_links: 'none', ...defines }).flatMap(([name, value]) => [
        '--define',
        `${name} ${value}`,
      ]),
      join(top, 'p.spec'),
    ],
    { env: { LC_ALL: 'C.UTF-8' } },
  )
  return (await readdir(top, { recursive: true })).filter(name => name.endsWith('.rpm')).map(name => join(top, name))
}

/** Has rpm install a package, without what it needs and without its scripts, into a system below this folder. */
export function rpmInstall(root: string, path: string, ...options: readonly string[]): ReturnType<typeof run> {
  return run('rpm', [
    '--root',
    root,
    ...options,
    '--force-debian',
    '-i',
    '--nodeps',
    '--noscripts',
    '--ignorearch',
    path,
  ])
}
