import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mustRun, run, type Ran } from './tools.ts'

export interface AptOptions {
  /** What follows `deb [signed-by=…]`: `http://host:8000/repos jammy main`. */
  readonly source: string
  /** Default `deb`; with `deb-src` the client reads sources too. */
  readonly types?: readonly ('deb' | 'deb-src')[]
  /** The client's own architecture; amd64 unless said. */
  readonly arch?: string
  /** Further architectures that are enabled, as by `dpkg --add-architecture`. */
  readonly foreign?: readonly string[]
  /** The public key file as the server gives it, armoured or binary. */
  readonly key: Buffer | string
  /** Packages of this machine that the client has already, such as libc6: their status is copied, not their files. */
  readonly has?: readonly string[]
  /** Words in front of `apt-get`, such as `nsenter` into another network. */
  readonly within?: readonly string[]
}

/** A machine of its own as far as apt and dpkg know: its own lists, cache, status and root. */
export interface AptRoot {
  readonly folder: string
  update(...options: readonly string[]): Promise<Ran>
  /**
   * Forgets every list, so that the next `update` fetches all of them: what is unchanged is not asked for otherwise.
   */
  forgetLists(): Promise<void>
  /** `hello` or `hello=1.0`. */
  install(...packages: readonly string[]): Promise<Ran>
  /** Whether these could be installed together. Installs nothing. */
  canInstall(...packages: readonly string[]): Promise<boolean>
  remove(...packages: readonly string[]): Promise<Ran>
  download(name: string): Promise<Ran>
  /** Fetches a source package into the root's folder and unpacks it. */
  source(name: string): Promise<Ran>
  /** The packages that building would install. Installs nothing. */
  buildDep(name: string): Promise<Ran>
  policy(name: string): Promise<string>
  /** `1.0` when it is installed, undefined when not. */
  installedVersion(name: string): Promise<string | undefined>
  setKey(key: Buffer | string): Promise<void>
  close(): Promise<void>
}

const FOLDERS = [
  'etc/apt/apt.conf.d',
  'etc/apt/preferences.d',
  'etc/apt/sources.list.d',
  'etc/apt/trusted.gpg.d',
  'etc/apt/keyrings',
  'var/lib/apt/lists/partial',
  'var/lib/dpkg/info',
  'var/lib/dpkg/updates',
  'var/lib/dpkg/triggers',
  'var/cache/apt/archives/partial',
  'var/log/apt',
  'home',
]

/**
 * A client that trusts one key and knows one source. A warning of `update` is an error: apt would go on with old lists
 * otherwise.
 */
export async function createAptRoot({
  source,
  types = ['deb'],
  arch = 'amd64',
  foreign = [],
  key,
  has = [],
  within = [],
}: AptOptions): Promise<AptRoot> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-apt-'))
  for (const path of FOLDERS) await mkdir(join(folder, path), { recursive: true })
  await writeFile(join(folder, 'var/lib/dpkg/available'), '')
  const status: string[] = []
  for (const name of has) {
    // its own dependencies are those of this machine
    status.push(
      (await mustRun('dpkg-query', ['-s', name]))
        .split('\n')
        .filter(line => !/^(Pre-Depends|Depends|Recommends|Conffiles| \/etc)/.test(line))
        .join('\n'),
    )
    await writeFile(join(folder, 'var/lib/dpkg/info', `${name}.list`), '/.\n')
  }
  await writeFile(join(folder, 'var/lib/dpkg/status'), status.map(stanza => `${stanza.trim()}\n\n`).join(''))
  const keyFile = join(folder, 'etc/apt/keyrings', 'gatehouse.asc')
  await writeFile(keyFile, key)
  await writeFile(
    join(folder, 'etc/apt/sources.list'),
    types.map(type => `${type} [signed-by=${keyFile}] ${source}\n`).join(''),
  )
  await writeFile(
    join(folder, 'apt.conf'),
    `Dir "${folder}";
Dir::State::status "${folder}/var/lib/dpkg/status";
Dir::Etc::trusted "/nonexistent"; Dir::Etc::trustedparts "/nonexistent";
Dir::Bin::Methods "/usr/lib/apt/methods"; Dir::Bin::dpkg "/usr/bin/dpkg"; Dir::Bin::solvers "/usr/lib/apt/solvers"; Dir::Bin::planners "/usr/lib/apt/planners";
APT::Architecture "${arch}"; APT::Architectures { ${[arch, ...foreign].map(one => `"${one}";`).join(' ')} };
APT::Sandbox::User "root"; APT::Update::Error-Mode "any"; APT::Get::AllowUnauthenticated "false";
Acquire::Languages "none"; Acquire::http::Proxy "DIRECT"; Acquire::Retries "0";
Dpkg::Options { "--root=${folder}"; "--force-not-root"; "--log=${folder}/var/log/dpkg.log"; };
Dpkg::Use-Pty "false";
`,
  )
  const env = { APT_CONFIG: join(folder, 'apt.conf'), DEBIAN_FRONTEND: 'noninteractive', HOME: join(folder, 'home') }
  const apt = (...args: readonly string[]): Promise<Ran> => {
    const [command = '', ...rest] = [...within, 'apt-get', ...args]
    return run(command, rest, { env, cwd: folder })
  }
  return {
    folder,
    update: (...options) => apt('update', ...options),
    forgetLists: async () => {
      await rm(join(folder, 'var/lib/apt/lists'), { recursive: true })
      await mkdir(join(folder, 'var/lib/apt/lists/partial'), { recursive: true })
    },
    install: (...packages) => apt('install', '-y', '--allow-downgrades', '--no-install-recommends', ...packages),
    canInstall: async (...packages) => (await apt('-s', 'install', ...packages)).code === 0,
    remove: (...packages) => apt('remove', '-y', ...packages),
    download: name => apt('download', name),
    source: name => apt('source', name),
    buildDep: name => apt('build-dep', '--dry-run', name),
    policy: name => mustRun('apt-cache', ['policy', name], { env, cwd: folder }),
    installedVersion: async name => {
      const { out } = await run(
        'dpkg-query',
        [`--admindir=${folder}/var/lib/dpkg`, '-W', '-f', '${db:Status-Abbrev}${Version}', name],
        { env },
      )
      return /^ii (\S+)$/.exec(out)?.[1]
    },
    setKey: content => writeFile(keyFile, content),
    close: () => rm(folder, { recursive: true, force: true }),
  }
}
