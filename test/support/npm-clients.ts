import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findProgram, run, type Ran } from './tools.ts'

/** Where a client of npm's registries is: named by an environment variable, or found on PATH; undefined: nowhere. */
export const npmClient = (variable: string, program: string): string | undefined =>
  process.env[variable] ?? findProgram(program)

/** A home of its own for clients of one registry: no file of whoever runs the tests is read or written. */
export interface NpmHome {
  readonly folder: string
  /** A folder with these files. */
  project(files: Readonly<Record<string, string>>): Promise<string>
  /** Runs a program there; what it writes is joined. */
  run(program: string, args: readonly string[], cwd: string): Promise<Ran & { readonly all: string }>
  /** Removes what its clients keep of registries. */
  forget(): Promise<void>
  close(): Promise<void>
}

export interface NpmHomeOptions {
  /** The registry's address, without a slash at the end. */
  readonly registry: string
  readonly token?: string
  /** More lines of `.npmrc`. */
  readonly lines?: readonly string[]
}

/** Makes the home. A project of it is a package of its own: one folder above has no package.json. */
export async function createNpmHome({ registry, token, lines = [] }: NpmHomeOptions): Promise<NpmHome> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-npm-'))
  const key = registry.replace(/^https?:/, '')
  const npmrc = [
    `registry=${registry}/`,
    ...(token === undefined ? [] : [`${key}/:_authToken=${token}`]),
    `cache=${join(folder, 'cache')}`,
    'update-notifier=false',
    'fund=false',
    'fetch-retries=0',
    ...lines,
  ]
  const rc = join(folder, '.npmrc')
  await writeFile(rc, `${npmrc.join('\n')}\n`)
  const { PATH = '' } = process.env
  const env = {
    PATH: `${dirname(process.execPath)}:${PATH}`,
    HOME: folder,
    XDG_CACHE_HOME: join(folder, 'cache'),
    XDG_CONFIG_HOME: join(folder, 'config'),
    XDG_DATA_HOME: join(folder, 'data'),
    npm_config_userconfig: rc,
    npm_config_globalconfig: join(folder, 'none'),
    // what runs the tests may be npm itself, with settings of its own
    npm_config_loglevel: 'notice',
    npm_config_cache: join(folder, 'cache'),
    npm_config_registry: `${registry}/`,
    NO_COLOR: '1',
    CI: '1',
    YARN_ENABLE_TELEMETRY: '0',
    YARN_ENABLE_IMMUTABLE_INSTALLS: '0',
    YARN_GLOBAL_FOLDER: join(folder, 'yarn'),
    COREPACK_ENABLE_DOWNLOAD_PROMPT: '0',
  }
  let made = 0
  return {
    folder,
    async project(files) {
      const place = join(folder, `p${++made}`)
      for (const [path, content] of Object.entries(files)) {
        await mkdir(dirname(join(place, path)), { recursive: true })
        await writeFile(join(place, path), content)
      }
      return place
    },
    async run(program, args, cwd) {
      // a file of JavaScript, as the clients of yarn come, runs under this Node
      const isScript = /\.[cm]?js$/.test(program)
      const ran = await run(isScript ? process.execPath : program, isScript ? [program, ...args] : args, { cwd, env })
      return { ...ran, all: `${ran.out}\n${ran.err}` }
    },
    async forget() {
      for (const kept of ['cache', 'data', 'yarn']) await rm(join(folder, kept), { recursive: true, force: true })
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}

/** One client beside npm: how it is told of the registry, and how it publishes. */
export interface OtherClient {
  readonly name: string
  readonly variable: string
  readonly program: string
  readonly files: (address: string, credential: string) => Record<string, string>
  readonly add: (what: string) => readonly string[]
  /** What the lock file names. */
  readonly install: readonly string[]
  /** What it wants before it publishes. */
  readonly prepare?: readonly string[]
  readonly publish: readonly string[]
}

/** Those beside npm that tests run where they are. */
export const OTHER_CLIENTS: readonly OtherClient[] = [
  {
    name: 'pnpm',
    variable: 'PNPM_PROGRAM',
    program: 'pnpm',
    files: () => ({}),
    add: what => ['add', what],
    install: ['install', '--frozen-lockfile'],
    publish: ['publish', '--no-git-checks'],
  },
  {
    name: 'yarn 1',
    variable: 'YARN1_PROGRAM',
    program: 'yarnpkg',
    files: () => ({}),
    add: what => ['add', what],
    install: ['install', '--frozen-lockfile'],
    publish: ['publish', '--non-interactive'],
  },
  {
    name: 'yarn 4',
    variable: 'YARN4_PROGRAM',
    program: 'yarn4',
    files: (address, credential) => ({
      '.yarnrc.yml': `npmRegistryServer: "${address}"\nnpmAuthToken: "${credential}"\nnpmAlwaysAuth: true\nnpmMinimalAgeGate: 0\nunsafeHttpWhitelist:\n  - "127.0.0.1"\nnodeLinker: node-modules\nenableGlobalCache: false\n`,
      'yarn.lock': '',
    }),
    add: what => ['add', what],
    install: ['install', '--immutable'],
    prepare: ['install'],
    publish: ['npm', 'publish'],
  },
]
