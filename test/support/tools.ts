import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Debian package → the program of it that tests run. `.ci/packages` names the same packages. */
const PROGRAMS = {
  'skopeo': 'skopeo',
  'age': 'age',
  'apt': 'apt-get',
  'appstream': 'appstreamcli',
  'apt-utils': 'apt-ftparchive',
  'aptly': 'aptly',
  'clamav-daemon': 'clamd',
  'clamav-freshclam': 'freshclam',
  'dpkg': 'dpkg',
  'dpkg-dev': 'dpkg-scanpackages',
  'dput': 'dput',
  'faketime': 'faketime',
  'chromium': 'chromium',
  'createrepo-c': 'createrepo_c',
  'dnf': 'dnf',
  'rpm': 'rpmbuild',
  'zypper': 'zypper',
  'python3-venv': 'python3',
  'redis-server': 'redis-server',
  'slapd': 'slapd',
  'locales': 'locale-gen',
  'logrotate': 'logrotate',
  'ldap-utils': 'ldapmodify',
  'openssh-server': 'sshd',
  'openssl': 'openssl',
  'gnupg': 'gpg',
  'gpgv': 'gpgv',
  'nginx-light': 'nginx',
  'reprepro': 'reprepro',
  'sqv': 'sqv',
  'twine': 'twine',
  'xz-utils': 'xz',
  'zstd': 'zstd',
} as const
export type Tool = keyof typeof PROGRAMS

const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin', '/usr/bin']

/** The path of a program, or undefined. */
export function findProgram(name: string): string | undefined {
  return FOLDERS.map(folder => join(folder, name)).find(path => existsSync(path))
}

/**
 * Those of the tools that are not here: `describe.skipIf(lacking('apt').length > 0)`; such suites are counted as
 * skipped, never as passed.
 */
export function lacking(...tools: readonly Tool[]): Tool[] {
  return tools.filter(tool => findProgram(PROGRAMS[tool]) === undefined)
}

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}
export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** Runs a program to its end; never throws for its exit code. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: { ...process.env, LC_ALL: 'C', ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let out = ''
    let err = ''
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
    })
    child.stderr.on('data', (chunk: Buffer) => {
      err += chunk.toString()
    })
    child.once('error', reject)
    child.once('close', code => resolve({ code, out, err }))
  })
}

/** Runs a program that has to succeed. @returns what it printed @throws with what it complained of */
export async function mustRun(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { code, out, err } = await run(command, args, options)
  if (code !== 0)
    throw new Error(`${command} ${args.join(' ')} ended with ${code}: ${err.slice(-2000)}${out.slice(-500)}`)
  return out
}

/** dpkg runs programs of administrators, whose folders the path of others may lack. */
export const ADMIN_PATH = `${process.env.PATH ?? ''}:/usr/sbin:/sbin`
