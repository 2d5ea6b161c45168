import { isAbsolute, join, resolve } from 'node:path'
import { formatWords } from './formats/index.ts'
import { createTrust } from './http/client-ip.ts'

/** How one variable is read. `secret` values appear in no message. */
export interface Variable {
  readonly name: string
  readonly description: string
  readonly default?: string
  readonly secret?: true
  /** Production refuses to start when it is empty or weak. Elsewhere a random one is made and kept. */
  readonly required?: 'production'
  /** Returns what is wrong with the text, or nothing. */
  readonly check?: (text: string) => string | undefined
}

const oneOf =
  (...words: readonly string[]) =>
  (text: string): string | undefined =>
    words.includes(text) ? undefined : `it must be one of ${words.join(', ')}`
const wholeNumber =
  (from: number, to: number) =>
  (text: string): string | undefined =>
    /^\d+$/.test(text) && Number(text) >= from && Number(text) <= to
      ? undefined
      : `it must be a whole number from ${from} to ${to}`

function postgresUrl(text: string): string | undefined {
  const protocol = URL.canParse(text) ? new URL(text).protocol : ''
  return protocol === 'postgres:' || protocol === 'postgresql:'
    ? undefined
    : 'it must be a URL such as postgres://user:password@host:5432/database'
}

function redisUrl(text: string): string | undefined {
  const { protocol = '', hostname = '' } = URL.canParse(text) ? new URL(text) : {}
  return ['redis:', 'rediss:'].includes(protocol) && hostname !== ''
    ? undefined
    : 'it must be a URL such as redis://user:password@host:6379/0, or rediss:// for TLS'
}

const origins = (text: string): string | undefined =>
  text
    .split(',')
    .every(part => part.trim() === '' || (URL.canParse(part.trim()) && new URL(part.trim()).origin === part.trim()))
    ? undefined
    : 'it must be a list of origins such as https://console.example, separated by commas'

const addresses = (text: string): string | undefined => {
  try {
    createTrust(listOf(text))
    return undefined
  } catch {
    return 'it must be a list of addresses or networks such as 10.0.0.0/8, separated by commas'
  }
}

// bcrypt: $2b$<cost>$<22 characters of salt><31 of digest>
const bcryptHash = (text: string): string | undefined =>
  /^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/.test(text.replaceAll('$$', '$'))
    ? undefined
    : 'it must be a bcrypt hash; write $$ for $ where the shell or compose file needs it'

/** Every environment variable, once. Reading, checks and documentation come from here. */
export const ENV_TABLE: readonly Variable[] = [
  {
    name: 'ENV',
    description: '`production` is strict: weak secrets refuse the start, documentation routes answer 404.',
    default: 'development',
    check: oneOf('production', 'development', 'test'),
  },
  { name: 'HOST', description: 'Address to listen on.', default: '127.0.0.1' },
  {
    name: 'PORT',
    description: 'Port to listen on; 0 takes a free one.',
    default: '8000',
    check: wholeNumber(0, 65535),
  },
  {
    name: 'REPOS_ROOT',
    description: 'Everything the service owns lies below it. `/repos` in production, else `./var/repos`.',
  },
  {
    name: 'REPO_FORMAT',
    description: 'Active formats: `apt`, `rpm`, `apk`, `both` (apt and rpm), `all`. An unknown value means `apt`.',
    default: 'all',
  },
  {
    name: 'DATABASE_URL',
    description: 'PostgreSQL to use; unset, one is started below REPOS_ROOT.',
    secret: true,
    check: postgresUrl,
  },
  {
    name: 'REDIS_URL',
    description: 'Shared limits and revocations for several replicas; unset, in memory.',
    secret: true,
    check: redisUrl,
  },
  { name: 'JWT_SECRET_KEY', description: 'Signs access tokens.', secret: true, required: 'production' },
  {
    name: 'JWT_EXPIRE_MINUTES',
    description: 'How long an access token is good.',
    default: '60',
    check: wholeNumber(1, 43_200),
  },
  {
    name: 'WEBHOOK_SECRET',
    description: 'Signs outbound webhooks and verifies inbound ones.',
    secret: true,
    required: 'production',
  },
  { name: 'LICENSE_VENDOR_SECRET', description: 'Verifies licence keys.', secret: true, required: 'production' },
  {
    name: 'SETTINGS_ENCRYPTION_KEY',
    description: 'Encrypts secrets in the settings and the signing keys at rest; unset, one is made under `.secrets/`.',
    secret: true,
  },
  {
    name: 'ADMIN_USERNAME',
    description: 'With ADMIN_PASSWORD_HASH: the first admin, made at start when there is none.',
  },
  {
    name: 'ADMIN_PASSWORD_HASH',
    description: "bcrypt hash of that admin's password; `$$` reads as `$`.",
    secret: true,
    check: bcryptHash,
  },
  { name: 'SETUP_TOKEN', description: 'When set, `POST /setup/` needs it in the header X-Setup-Token.', secret: true },
  {
    name: 'TRUSTED_PROXIES',
    description: 'Addresses whose X-Forwarded-For is believed.',
    default: '127.0.0.0/8,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7',
    check: addresses,
  },
  { name: 'METRICS_TOKEN', description: 'When set, `/metrics` needs it as bearer token.', secret: true },
  { name: 'INTERNAL_TOKEN', description: 'Protects `/internal/` routes of hosted deployments.', secret: true },
  {
    name: 'CORS_ORIGINS',
    description: 'Origins of other consoles that may call the API, separated by commas.',
    check: origins,
  },
  { name: 'APP_VERSION', description: 'What `/health` says as `version`.', default: 'dev' },
  {
    name: 'EDITION',
    description: '`enterprise`, or `community`, which answers 402 where a feature is not part of it.',
    default: 'enterprise',
    check: oneOf('enterprise', 'community'),
  },
  { name: 'CLAMD_SOCKET', description: 'Unix socket of clamd.' },
  { name: 'CLAMD_HOST', description: 'Host of clamd, where it listens on TCP.' },
  { name: 'CLAMD_PORT', description: 'Port of clamd on that host.', default: '3310', check: wholeNumber(1, 65535) },
  {
    name: 'APT_PUBLISHER',
    description: 'Who writes APT trees: `native` or `reprepro`.',
    default: 'native',
    check: oneOf('native', 'reprepro'),
  },
  { name: 'PATH', description: 'Where grype and trivy are looked for.', default: '/usr/local/bin:/usr/bin:/bin' },
  {
    name: 'LOG_LEVEL',
    description: 'How much is logged.',
    default: 'info',
    check: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
  },
]

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
    ...(!production || values.has('SETTINGS_ENCRYPTION_KEY')
      ? []
      : [
          'SETTINGS_ENCRYPTION_KEY is not set: the key of the stored secrets lies beside them, under .secrets; keep it elsewhere and set it.',
        ]),
  ]
}

const WORDS = formatWords()
const listOf = (text: string | undefined): string[] =>
  (text ?? '')
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')

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
  const root = given.get('REPOS_ROOT') ?? (production ? '/repos' : join(cwd, 'var', 'repos'))
  const format = text('REPO_FORMAT')
  const username = given.get('ADMIN_USERNAME')
  const socket = given.get('CLAMD_SOCKET')
  const clamdHost = given.get('CLAMD_HOST')
  return Object.freeze({
    production,
    host: text('HOST'),
    port: Number(text('PORT')),
    reposRoot: isAbsolute(root) ? root : resolve(cwd, root),
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
    searchPath: text('PATH'),
    warnings: warningsOf(given, production),
  })
}
