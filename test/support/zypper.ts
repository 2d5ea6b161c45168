import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { installedIn, rpmRoot, type RpmClient, type RpmClientOptions } from './dnf.ts'
import { run, type Ran } from './tools.ts'

/** A machine with zypper, and whatever else zypper can be asked. */
export interface ZypperRoot extends RpmClient {
  zypper(...args: readonly string[]): Promise<Ran>
}

/**
 * zypper with one repository. Its `gpgcheck` insists on the index's signature or, failing that, on the packages'; the
 * two others insist on each. Source: zypper(8), "GPG checks".
 */
export async function createZypperRoot({
  baseurl,
  key,
  signedPackages,
  repo,
  arch = 'x86_64',
}: RpmClientOptions): Promise<ZypperRoot> {
  const folder = await rpmRoot('gh-zypp-')
  const root = join(folder, 'root')
  for (const name of ['etc/zypp/repos.d', 'var/lib/rpm', 'home']) await mkdir(join(root, name), { recursive: true })
  const keyFile = join(folder, 'key.asc')
  await writeFile(keyFile, key)
  await writeFile(
    join(root, 'etc/zypp/repos.d/gatehouse.repo'),
    repo ??
      `[gatehouse]
name=gatehouse
enabled=1
autorefresh=1
baseurl=${baseurl}
type=rpm-md
gpgcheck=1
repo_gpgcheck=1
pkg_gpgcheck=${signedPackages ? 1 : 0}
gpgkey=file://${keyFile}
`,
  )
  const conf = join(root, 'etc/zypp/zypp.conf')
  await writeFile(conf, `[main]\narch = ${arch}\n`)
  const env = { ZYPP_LOCKFILE_ROOT: root, ZYPP_CONF: conf, HOME: join(root, 'home'), LC_ALL: 'C' }
  const zypper = (...args: readonly string[]): Promise<Ran> =>
    run('zypper', ['--root', root, '--non-interactive', '--gpg-auto-import-keys', ...args], { env, cwd: folder })
  return {
    folder,
    zypper,
    refresh: () => zypper('refresh', '--force'),
    install: (...packages) => zypper('install', '--no-recommends', ...packages),
    update: () => zypper('update', '--no-recommends'),
    patches: () => zypper('list-patches', '--category', 'security', '--cve'),
    patch: () => zypper('patch', '--category', 'security'),
    available: async () => {
      const { out } = await zypper('--no-refresh', '--quiet', '--xmlout', 'search', '--type', 'package', '--details')
      return [...out.matchAll(/<solvable [^>]*name="([^"]+)"[^>]*edition="([^"]+)"[^>]*arch="([^"]+)"/g)]
        .map(([, name, edition, arch]) => `${name}-${edition}.${arch}`)
        .sort()
    },
    installedVersion: name => installedIn(root, name, '/var/lib/rpm'),
    setKey: content => writeFile(keyFile, content),
    close: () => rm(folder, { recursive: true, force: true }),
  }
}
