import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

/** A part of `compose.yaml`, as far as it is used here. */
export interface Part {
  readonly command: readonly [string]
  readonly user: string
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
  readonly tmpfs?: readonly string[]
  readonly healthcheck?: object
  readonly ports?: readonly string[]
  readonly networks?: readonly string[]
  readonly mem_limit?: string
  readonly pids_limit?: number
}
export interface Compose {
  readonly services: Readonly<Record<string, Part>>
  readonly volumes: Readonly<Record<string, null>>
  readonly networks: Readonly<Record<string, unknown>>
}

export const readCompose = (path: string): Compose => parse(readFileSync(path, 'utf8'), { merge: true }) as Compose

/** `COPY` and `RUN` of a Containerfile, in their order. */
export function stepsOf(text: string): (readonly ['COPY' | 'RUN', string])[] {
  const lines = text.replaceAll(/\\\n/g, ' ').split('\n')
  return lines.flatMap(line => {
    const [, word, rest = ''] = /^(COPY|RUN) (.*)$/.exec(line) ?? []
    return word === 'COPY' || word === 'RUN' ? [[word, rest.trim()] as const] : []
  })
}

export interface Started {
  readonly said: () => string
  readonly child: ChildProcess
  /** Ends everything in it at once. */
  kill(): void
}

/**
 * Starts a part as a container engine would: a root that nobody may write to, its volumes (which begin as folders of
 * the image), its user, no capability and no way to new ones. All parts share one network here.
 */
export function startPart(
  root: string,
  part: Part,
  {
    volumes,
    outer,
    words = part.command,
  }: { readonly volumes: string; readonly outer: number; readonly words?: readonly string[] },
): Started {
  const mounts = (part.volumes ?? []).map(line => line.split(':') as [string, string, string?])
  for (const [name, at] of mounts) {
    const from = join(volumes, name)
    if (existsSync(from)) continue
    mkdirSync(from)
    if (!existsSync(join(root, at))) continue
    const { uid, gid, mode } = statSync(join(root, at))
    chownSync(from, uid, gid)
    chmodSync(from, mode & 0o7777)
  }
  const lines = [
    `mount --bind ${root} ${root}`,
    // tmpfs first: a volume may lie in one
    ...(part.tmpfs ?? [])
      .map(line => line.split(':'))
      .map(([at = '', mode = 'mode=1777']) => `mount -t tmpfs -o ${mode} tmpfs ${root}${at}`),
    ...mounts.map(
      ([name, at, how]) =>
        `mount --bind ${join(volumes, name)} ${root}${at}${how === 'ro' ? ` && mount -o remount,bind,ro ${root}${at}` : ''}`,
    ),
    `mount -t proc proc ${root}/proc`,
    `mount --rbind /dev ${root}/dev`,
    ...(part.read_only === true ? [`mount -o remount,bind,ro ${root}`] : []),
    `cd / && exec chroot ${root} "$@"`,
  ]
  const [user = '', group = user] = part.user.split(':')
  const rights = [
    'setpriv',
    `--reuid=${user}`,
    `--regid=${group}`,
    '--init-groups',
    '--no-new-privs',
    '--bounding-set=-all',
  ]
  const environment = Object.entries(part.environment ?? {})
    .filter(([, value]) => !value.includes('$'))
    .map(([key, value]) => `${key}=${value}`)
  const child = spawn(
    'nsenter',
    [
      '-t',
      String(outer),
      '-n',
      '--',
      'unshare',
      '--mount',
      '--propagation',
      'private',
      '--pid',
      '--fork',
      '--kill-child',
      'sh',
      '-ec',
      lines.join('\n'),
      'sh',
      ...rights,
      'env',
      '-i',
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      ...environment,
      ...words,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString()
    })
  return {
    said: () => said,
    child,
    kill() {
      // its process 1 has another user than what started it, so the kernel no longer ends it with that
      const first = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim()
      if (first !== '') process.kill(Number(first), 'SIGKILL')
      child.kill('SIGKILL')
    },
  }
}
