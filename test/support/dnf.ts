import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mustRun, run, type Ran } from './tools.ts'

export interface RpmClientOptions {
  /** `http://host:8000/repos/almalinux9/x86_64/`, or a folder as `file://…`. */
  readonly baseurl: string
  /** The public key file as the server gives it. */
  readonly key: Buffer | string
  /** Whether packages must be signed by that key too. */
  readonly signedPackages: boolean
  /** A whole .repo file in place of one made from the above. */
  readonly repo?: string
  /** The machine's architecture, x86_64 unless said. What is for another one is installed unrun. */
  readonly arch?: string
}

/** A machine of its own as far as dnf or zypper and rpm know: its own cache, configuration, keys and root. */
export interface RpmClient {
  readonly folder: string
  /** Fetches what changed; fails when it cannot be trusted. */
  refresh(): Promise<Ran>
  /** `hello` or `hello-1.0-1`. */
  install(...packages: readonly string[]): Promise<Ran>
  /** Everything to its newest version. */
  update(): Promise<Ran>
  /** The advisories for installed packages, as dnf lists them. */
  patches(): Promise<Ran>
  /** Updates only packages that fix a vulnerability. */
  patch(): Promise<Ran>
  /** Names and versions on offer, `hello-1:1.0-1.x86_64`, sorted; from what the last refresh fetched. */
  available(): Promise<readonly string[]>
  /** `1:1.0-1` when it is installed, undefined when not. */
  installedVersion(name: string): Promise<string | undefined>
  setKey(key: Buffer | string): Promise<void>
  close(): Promise<void>
}

/**
 * The version that rpm's database has. @param database below the root: Debian's dnf keeps it in HOME, zypper in /var
 */
export async function installedIn(root: string, name: string, database: string): Promise<string | undefined> {
  const { code, out } = await run('rpm', ['--root', root, '--dbpath', database, '-q', '--qf', '%{EVR}', name])
  return code === 0 ? out.trim() : undefined
}

/** A root with what rpm needs before its first transaction. */
export async function rpmRoot(prefix: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), prefix))
  await mkdir(join(folder, 'root'), { recursive: true })
  return folder
}

export interface DnfOptions extends RpmClientOptions {
  /** What `$releasever` stands for, 9 unless said. */
  readonly releasever?: string
  /** A folder with dnf's plugins; without it there are none. */
  readonly plugins?: string
  /** Words in front of `dnf`, such as `nsenter` into another network. */
  readonly within?: readonly string[]
  /** The authority of its servers, a file, for an address with https. */
  readonly authority?: string
}

/** A machine with dnf, and whatever else dnf can be asked. */
export interface DnfRoot extends RpmClient {
  dnf(...args: readonly string[]): Promise<Ran>
}

/**
 * dnf with one repository whose index, and packages where asked, must be signed by one key. Source of the options:
 * dnf.conf(5).
 */
export async function createDnfRoot({
  baseurl,
  key,
  signedPackages,
  repo,
  arch = 'x86_64',
  releasever = '9',
  plugins,
  within = [],
  authority,
}: DnfOptions): Promise<DnfRoot> {
  const folder = await rpmRoot('gh-dnf-')
  for (const name of ['cache', 'repos.d', 'log', 'persist', 'vars', 'home']) await mkdir(join(folder, name))
  const keyFile = join(folder, 'key.asc')
  await writeFile(keyFile, key)
  const at = (name: string): string => join(folder, name)
  await writeFile(
    at('dnf.conf'),
    `[main]
reposdir=${at('repos.d')}
varsdir=${at('vars')}
cachedir=${at('cache')}
persistdir=${at('persist')}
logdir=${at('log')}
${plugins === undefined ? 'plugins=0' : `plugins=1\npluginpath=${join(plugins, 'dnf-plugins')}`}
install_weak_deps=0
best=1
retries=1
`,
  )
  await writeFile(
    at('repos.d/gatehouse.repo'),
    repo ??
      `[gatehouse]
name=gatehouse
baseurl=${baseurl}
enabled=1
gpgcheck=${signedPackages ? 1 : 0}
repo_gpgcheck=1
gpgkey=file://${keyFile}
${authority === undefined ? '' : `sslcacert=${authority}\n`}metadata_expire=0
`,
  )
  const env = { HOME: at('home'), ...(plugins === undefined ? {} : { PYTHONPATH: plugins }) }
  const [program = 'dnf', ...words] = [...within, 'dnf']
  const dnf = (...args: readonly string[]): Promise<Ran> =>
    run(
      program,
      [
        ...words,
        '-c',
        at('dnf.conf'),
        `--installroot=${at('root')}`,
        `--releasever=${releasever}`,
        `--forcearch=${arch}`,
        '-y',
        ...args,
      ],
      { env, cwd: folder },
    )
  return {
    folder,
    dnf,
    refresh: () => dnf('makecache'),
    install: (...packages) => dnf('install', ...packages),
    update: () => dnf('upgrade', '--refresh'),
    patches: async () => {
      const [byId, byCve] = [
        await dnf('-q', 'updateinfo', 'list', '--security'),
        await dnf('-q', 'updateinfo', 'list', '--security', '--with-cve'),
      ]
      return { ...byId, out: byId.out + byCve.out }
    },
    patch: () => dnf('upgrade', '--refresh', '--security'),
    available: async () => {
      const { out } = await dnf('-q', '-C', 'repoquery', '--available', '--qf', '%{name}-%{evr}.%{arch}')
      return out
        .split('\n')
        .filter(line => line !== '')
        .sort()
    },
    installedVersion: name => installedIn(at('root'), name, join(env.HOME, '.rpmdb')),
    setKey: content => writeFile(keyFile, content),
    close: async () => {
      // dnf leaves one gpg-agent per cache folder behind; each ends when its folder is gone, sooner when it is asked
      for (const home of (await mustRun('find', [folder, '-type', 'd', '-name', 'pubring']))
        .split('\n')
        .filter(line => line !== '')) {
        await run('gpgconf', ['--kill', 'gpg-agent'], { env: { GNUPGHOME: home } })
      }
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/**
 * dnf's own plugins, for `dnf download`: unpacked aside, because Debian's dnf-plugins-core cannot be installed beside
 * zypper. @returns the folder of `createDnfRoot`'s `plugins`; undefined where Debian's archive is out of reach
 */
export async function fetchDnfPlugins(folder: string): Promise<string | undefined> {
  const { code } = await run('apt-get', ['download', 'dnf-plugins-core'], { cwd: folder })
  const file = (await readdir(folder)).find(name => name.startsWith('dnf-plugins-core_'))
  if (code !== 0 || file === undefined) return undefined
  await mustRun('dpkg-deb', ['-x', file, 'plugins'], { cwd: folder })
  return join(folder, 'plugins/usr/lib/python3/dist-packages')
}
