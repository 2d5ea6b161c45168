import { join, resolve } from 'node:path'
import { ENV_TABLE, listOf } from './env-table.ts'
import { formatWords } from './formats/index.ts'

/** How this machine is deployed. Read once; frozen. `files/secrets.ts` makes the secrets that are undefined. */
export interface Env {
  readonly production: boolean
  readonly host: string
  readonly port: number
  readonly reposRoot: string
  readonly repoFormat: string
  readonly databaseUrl: string | undefined
  readonly redisUrl: string | undefined
  readonly jwtSecret: string | undefined
  readonly jwtMinutes: number
  readonly webhookSecret: string | undefined
  readonly licenseSecret: string | undefined
  readonly settingsKey: string | undefined
  readonly admin: { readonly username: string; readonly passwordHash: string } | undefined
  readonly setupToken: string | undefined
  readonly trustedProxies: readonly string[]
  readonly metricsToken: string | undefined
  readonly internalToken: string | undefined
  readonly corsOrigins: readonly string[]
  readonly version: string
  readonly edition: 'enterprise' | 'community'
  readonly clamd: { readonly socket: string } | { readonly host: string; readonly port: number } | undefined
  readonly aptPublisher: 'native' | 'reprepro'
  /** Folders of programs, separated by `:`. */
  readonly searchPath: string
  readonly logLevel: string
  readonly logFolder: string
  /** Folders that trees may be adopted from. */
  readonly importRoots: readonly string[]
  /** MEDIA_FOLDER */
  readonly mediaFolder: string | undefined
  /** The variables that are set, for people who help; a secret is `***`. */
  readonly shown: Readonly<Record<string, string>>
  /** Of the program that looks after the machine. */
  readonly machineSocket: string
  /** Where update files of the machine lie. */
  readonly updateFolder: string
  readonly logFileMb: number
  readonly logFiles: number
  /** Odd values that do not stop the start. */
  readonly warnings: readonly string[]
}

/** Everything that is wrong with the environment, one line each. */
export class EnvProblems extends Error {
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'EnvProblems'
    this.problems = problems
  }
}

// words of examples, templates and tutorials; a random secret matches none of them
const WEAK = new RegExp(
  [
    '^(secret|password|admin|dev|development|test|jwt)([-_ ]?(secret|key|token))*\\d*$',
    '^(example|default|insecure)',
    '^(my[-_ ])?super[-_ ]?secret',
    '^(your|replace)[-_ ]',
    'change[-_ ]?(me|this|it)',
    'change[-_ ]in[-_ ]production',
  ].join('|'),
  'i',
)
const SHORTEST_SECRET = 16

function weakness(text: string): string | undefined {
  if (text === '') return 'it must be set when ENV=production'
  if (WEAK.test(text)) return 'it is a known default; set a random value, for example from: openssl rand -hex 32'
  if (text.length < SHORTEST_SECRET || new Set(text).size < 8)
    return `it is too weak; set at least ${SHORTEST_SECRET} random characters, for example from: openssl rand -hex 32`
  return undefined
}

function findProblems(values: ReadonlyMap<string, string>, production: boolean): string[] {
  const problems: string[] = []
  for (const { name, check, required } of ENV_TABLE) {
    const text = values.get(name) ?? ''
    const problem = required === 'production' && production ? weakness(text) : text === '' ? undefined : check?.(text)
    if (problem !== undefined) problems.push(`${name}: ${problem}.`)
  }
  const settingsKey = values.get('SETTINGS_ENCRYPTION_KEY') ?? ''
  if (production && settingsKey !== '' && weakness(settingsKey) !== undefined)
    problems.push(`SETTINGS_ENCRYPTION_KEY: ${weakness(settingsKey) ?? ''}.`)
  if (values.has('ADMIN_USERNAME') !== values.has('ADMIN_PASSWORD_HASH'))
    problems.push('ADMIN_USERNAME, ADMIN_PASSWORD_HASH: set both or neither.')
  if (values.has('CLAMD_SOCKET') && values.has('CLAMD_HOST'))
    problems.push('CLAMD_SOCKET, CLAMD_HOST: set one of them, not both.')
  return problems
}

/** Values that do not stop the start but should be known. */
function warningsOf(values: ReadonlyMap<string, string>, production: boolean): string[] {
  const format = values.get('REPO_FORMAT')
  return [
    ...(format === undefined || WORDS.includes(format)
      ? []
      : [`REPO_FORMAT=${format} is unknown, so only apt is active. It may be ${WORDS.join(', ')}.`]),
    // an appliance keeps it with what it encrypts, so that its backups can be restored on another
    ...(!production || values.has('SETTINGS_ENCRYPTION_KEY') || values.has('MEDIA_FOLDER')
      ? []
      : [
          'SETTINGS_ENCRYPTION_KEY is not set: the key of the stored secrets lies beside them, under .secrets; keep it elsewhere and set it.',
        ]),
  ]
}

const WORDS = formatWords()

/** A folder of its own below REPOS_ROOT, unless an admin names others. */
function importRootsOf(text: string | undefined, reposRoot: string): readonly string[] {
  const named = listOf(text).map(path => resolve(path))
  return named.length === 0 ? [join(reposRoot, 'import-trees')] : named
}

/**
 * Reads and checks the whole environment.
 * @param cwd  what a relative REPOS_ROOT is relative to
 * @throws EnvProblems with every problem at once, naming variables and never a secret's value
 */
export function readEnv(vars: Readonly<Record<string, string | undefined>>, cwd: string): Env {
  const given = new Map(
    ENV_TABLE.flatMap(({ name }) =>
      vars[name] === undefined || vars[name] === '' ? [] : [[name, vars[name]] as const],
    ),
  )
  const production = given.get('ENV') === 'production'
  const problems = findProblems(given, production)
  if (problems.length > 0) throw new EnvProblems(problems)
  const text = (name: string): string =>
    given.get(name) ?? ENV_TABLE.find(variable => variable.name === name)?.default ?? ''
  const reposRoot = resolve(cwd, given.get('REPOS_ROOT') ?? (production ? '/repos' : join(cwd, 'var', 'repos')))
  const format = text('REPO_FORMAT')
  const username = given.get('ADMIN_USERNAME')
  const socket = given.get('CLAMD_SOCKET')
  const clamdHost = given.get('CLAMD_HOST')
  return Object.freeze({
    production,
    host: text('HOST'),
    port: Number(text('PORT')),
    reposRoot,
    repoFormat: WORDS.includes(format) ? format : 'apt',
    databaseUrl: given.get('DATABASE_URL'),
    redisUrl: given.get('REDIS_URL'),
    jwtSecret: given.get('JWT_SECRET_KEY'),
    jwtMinutes: Number(text('JWT_EXPIRE_MINUTES')),
    webhookSecret: given.get('WEBHOOK_SECRET'),
    licenseSecret: given.get('LICENSE_VENDOR_SECRET'),
    settingsKey: given.get('SETTINGS_ENCRYPTION_KEY'),
    admin:
      username === undefined
        ? undefined
        : { username, passwordHash: text('ADMIN_PASSWORD_HASH').replaceAll('$$', '$') },
    setupToken: given.get('SETUP_TOKEN'),
    trustedProxies: listOf(text('TRUSTED_PROXIES')),
    metricsToken: given.get('METRICS_TOKEN'),
    internalToken: given.get('INTERNAL_TOKEN'),
    corsOrigins: listOf(given.get('CORS_ORIGINS')),
    version: text('APP_VERSION'),
    edition: text('EDITION') === 'community' ? 'community' : 'enterprise',
    clamd:
      socket !== undefined
        ? { socket }
        : clamdHost !== undefined
          ? { host: clamdHost, port: Number(text('CLAMD_PORT')) }
          : undefined,
    aptPublisher: text('APT_PUBLISHER') === 'reprepro' ? 'reprepro' : 'native',
    logLevel: text('LOG_LEVEL'),
    importRoots: importRootsOf(given.get('IMPORT_ROOTS'), reposRoot),
    mediaFolder: given.get('MEDIA_FOLDER'),
    logFolder: resolve(cwd, given.get('LOG_FOLDER') ?? join(reposRoot, 'logs')),
    shown: Object.fromEntries(
      ENV_TABLE.flatMap(({ name, secret }) => {
        const value = given.get(name)
        return value === undefined ? [] : [[name, secret === true ? '***' : value]]
      }),
    ),
    machineSocket: text('MACHINE_SOCKET'),
    updateFolder: join(text('STATE_DIRECTORY'), 'updates'),
    logFileMb: Number(text('LOG_FILE_MB')),
    logFiles: Number(text('LOG_FILES')),
    searchPath: text('PATH'),
    warnings: warningsOf(given, production),
  })
}
