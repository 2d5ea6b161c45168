import { isAbsolute } from 'node:path'
import { createTrust } from './http/client-ip.ts'
import { SOCKET } from './machine/protocol.ts'

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

/** The parts of a list that is separated by commas. */
export const listOf = (text: string | undefined): string[] =>
  (text ?? '')
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')

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
    description: 'How long an access token is valid.',
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
    description: 'Addresses whose X-Forwarded-For is trusted.',
    default: '127.0.0.0/8,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7',
    check: addresses,
  },
  { name: 'METRICS_TOKEN', description: 'When set, `/metrics` needs it as bearer token.', secret: true },
  {
    name: 'INTERNAL_TOKEN',
    description:
      'When set, `GET /internal/tenants` answers whoever sends it as bearer token, for hosted deployments; unset, 404.',
    secret: true,
  },
  {
    name: 'CORS_ORIGINS',
    description: 'Origins of other consoles that may call the API, separated by commas.',
    check: origins,
  },
  { name: 'APP_VERSION', description: 'The `version` that `/health` answers.', default: 'dev' },
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
  {
    name: 'PATH',
    description: 'Folders in which grype and trivy are searched.',
    default: '/usr/local/bin:/usr/bin:/bin',
  },
  {
    name: 'LOG_LEVEL',
    description: 'How much is logged.',
    default: 'info',
    check: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
  },
  { name: 'LOG_FOLDER', description: 'Where log files are kept; unset, `logs` below REPOS_ROOT.' },
  {
    name: 'IMPORT_ROOTS',
    description:
      'Folders on this machine that trees may be adopted from (`POST /import/adopt`) and read as sources, absolute, separated by commas; unset, `import-trees` below REPOS_ROOT.',
    check: text =>
      listOf(text).every(path => isAbsolute(path)) ? undefined : 'it must be absolute paths, separated by commas',
  },
  {
    name: 'MACHINE_SOCKET',
    description:
      "Unix socket of the program that looks after the appliance's machine; where there is none, this is no appliance.",
    default: SOCKET,
    check: text => (isAbsolute(text) ? undefined : 'it must be an absolute path'),
  },
  {
    name: 'STATE_DIRECTORY',
    description: 'Folder of the service beside REPOS_ROOT; update files of the machine lie in `updates` below it.',
    default: '/var/lib/gatehouse',
    check: text => (isAbsolute(text) ? undefined : 'it must be an absolute path'),
  },
  {
    name: 'MEDIA_FOLDER',
    description:
      'Where the machine mounts and lists sticks, absolute: backups, bundles, vulnerability data and signatures are taken from there. The appliance sets it; unset, none are.',
    check: text => (isAbsolute(text) ? undefined : 'it must be an absolute path'),
  },
  {
    name: 'LOG_FILE_MB',
    description: 'How large a log file grows, in MB, before a new one begins.',
    default: '20',
    check: wholeNumber(1, 10_000),
  },
  {
    name: 'LOG_FILES',
    description: 'How many finished log files stay, of the log and of the list of downloads each.',
    default: '10',
    check: wholeNumber(1, 10_000),
  },
]
