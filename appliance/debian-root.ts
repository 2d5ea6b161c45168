import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const SUITES = ['bookworm', 'trixie'] as const
export type Suite = (typeof SUITES)[number]

/** Lists of `appliance/packages/`. */
export type PackageList = 'service' | 'system' | 'boot'

/** The day of each release, in seconds: what installing packages makes is as old, so that every root is the same. */
const RELEASED: Readonly<Record<Suite, number>> = {
  bookworm: Date.UTC(2023, 5, 10) / 1000,
  trixie: Date.UTC(2025, 7, 9) / 1000,
}
const LISTS = join(import.meta.dirname, 'packages')
/** Debian's own archive, where this machine's apt names none. */
const PUBLIC = { debian: 'http://ftp.debian.org/debian', security: 'http://security.debian.org/debian-security' }
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'

/** The packages of these lists, each once, sorted. */
export function packagesOf(lists: readonly PackageList[]): string[] {
  const lines = lists.flatMap(list => readFileSync(join(LISTS, list), 'utf8').split('\n'))
  return [...new Set(lines.filter(line => line !== '' && !line.startsWith('#')))].sort()
}

/** Where this machine fetches Debian from, as its apt is configured: a mirror nearby builds in minutes. */
function findArchive(): typeof PUBLIC {
  const asked = spawnSync('apt-get', ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages'], {
    encoding: 'utf8',
  })
  const addresses = (asked.stdout ?? '').split('\n').map(line => line.replace(/\/$/, ''))
  const debian = addresses.find(address => /\/debian$/.test(address))
  const security = addresses.find(address => /\/debian-security$/.test(address))
  return debian === undefined || security === undefined ? PUBLIC : { debian, security }
}

const sources = (suite: Suite, { debian, security }: typeof PUBLIC): string =>
  [
    `deb [signed-by=${KEYRING}] ${debian} ${suite} main`,
    `deb [signed-by=${KEYRING}] ${debian} ${suite}-updates main`,
    `deb [signed-by=${KEYRING}] ${security} ${suite}-security main`,
    '',
  ].join('\n')

// what nobody reads on an appliance
const LEFT_OUT = [
  'path-exclude=/usr/share/doc/*',
  'path-include=/usr/share/doc/*/copyright',
  'path-exclude=/usr/share/man/*',
  'path-exclude=/usr/share/info/*',
  'path-exclude=/usr/share/locale/*',
]
// the database is one of our own: see `provision.sh`
const NO_CLUSTER =
  'mkdir -p "$1/etc/postgresql-common" && echo "create_main_cluster = false" >"$1/etc/postgresql-common/createcluster.conf"'

/** Makes what is newer than `start` as old as the release; packages keep the times of their files. In seconds. */
function settleTimes(folder: string, { start, suite }: { readonly start: number; readonly suite: Suite }): void {
  const touch = ['touch', '--no-dereference', '--date', `@${RELEASED[suite]}`]
  execFileSync('find', [folder, '-depth', '-newermt', `@${start}`, '-exec', ...touch, '{}', '+'])
}

/**
 * A root of Debian with the packages of these lists, made by mmdebstrap where the cache has none for them. The same
 * packages give the same bytes and times.
 * @param cache  a folder that may be removed at any time
 * @returns its folder; whoever changes it works on a copy
 */
export function debianRoot({
  suite,
  lists,
  cache,
}: {
  readonly suite: Suite
  readonly lists: readonly PackageList[]
  readonly cache: string
}): string {
  const packages = packagesOf(lists)
  const key = createHash('sha256')
    .update(JSON.stringify([packages, LEFT_OUT, RELEASED[suite]]))
    .digest('hex')
    .slice(0, 12)
  const folder = join(cache, `root-${suite}-${key}`)
  if (existsSync(folder)) return folder
  mkdirSync(cache, { recursive: true })
  const work = mkdtempSync(join(tmpdir(), 'gatehouse-root-'))
  try {
    const list = join(work, 'sources.list')
    writeFileSync(list, sources(suite, findArchive()))
    rmSync(`${folder}.part`, { recursive: true, force: true })
    const start = Math.floor(Date.now() / 1000)
    execFileSync(
      'mmdebstrap',
      [
        '--quiet',
        '--variant=minbase',
        `--include=${packages.join(',')}`,
        '--aptopt=APT::Install-Recommends "false"',
        ...LEFT_OUT.map(option => `--dpkgopt=${option}`),
        `--essential-hook=${NO_CLUSTER}`,
        suite,
        `${folder}.part`,
        list,
      ],
      {
        stdio: ['ignore', 'inherit', 'inherit'],
        // mkinitramfs gives files in it this time, and leaves out the numbers of inodes
        env: { ...process.env, SOURCE_DATE_EPOCH: String(RELEASED[suite]) },
      },
    )
    settleTimes(`${folder}.part`, { start, suite })
    renameSync(`${folder}.part`, folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  return folder
}
