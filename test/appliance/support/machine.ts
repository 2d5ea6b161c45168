import { spawn } from 'node:child_process'
import { readFile, readlink } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { run, type Ran } from '../../support/tools.ts'
import { ownControlGroups } from './control-groups.ts'
import type { Root } from './root.ts'

/** What curl saw. */
export interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
  readonly text: string
}
export interface Call {
  readonly token?: string | undefined
  readonly json?: unknown
  /** Fields of a form; `@/path` is a file. */
  readonly form?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
}

/** A root that was booted by systemd-nspawn, with a network of its own; the other end of its cable is the LAN. */
export interface Machine {
  readonly address: string
  /** A process of this computer that is in the LAN. */
  readonly outer: number
  /** Runs a program in the machine. */
  inside(...command: readonly string[]): Promise<Ran>
  /** As `inside`, and it has to succeed. @returns what it printed */
  must(...command: readonly string[]): Promise<string>
  /** Runs a program of this computer in the machine's LAN. */
  lan(program: string, ...args: readonly string[]): Promise<Ran>
  /** A request from the LAN over TLS, whose authority is checked. */
  call(method: string, path: string, call?: Call): Promise<Answer>
  /** What its terminal showed since the start. */
  terminal(): string
  /** Types at its terminal, where it was booted with one. */
  type(text: string): void
  /** Resolves when `look` gives something, asked again and again. @throws after two minutes, with its last error */
  until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T>
  /** Resolves when the machine answers from the LAN and everything it wanted to start has started. */
  healthy(): Promise<void>
  /** Gives it its address again, where it gave that up. */
  plugIn(): Promise<void>
  /** @param begin  what makes it start anew, by default systemctl */
  reboot(begin?: () => Promise<unknown>): Promise<void>
  /** Ends everything in it at once, as a power cut does, and starts it again. */
  cutPower(): Promise<void>
  close(): Promise<void>
}

const LAN = '10.99.0.1'
const ADDRESS = '10.99.0.2'
const PATIENCE_MS = 120_000

/** The children of a process. */
async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return text.split(' ').filter(Boolean).map(Number)
}

async function until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  const end = performance.now() + PATIENCE_MS
  let last: unknown
  for (;;) {
    const found = await look().catch((error: unknown) => void (last = error))
    if (found !== undefined && found !== false) return found
    if (performance.now() > end)
      throw new Error(`After two minutes still not: ${what}${last === undefined ? '' : `; last: ${String(last)}`}`)
    await setTimeout(100)
  }
}

/** A network of its own that lasts: the machine's end of its cable is new after each start. */
async function startLan(): Promise<{ readonly pid: number; close(): void }> {
  const own = await readlink('/proc/self/ns/net')
  const holder = spawn('unshare', ['--net', 'sh', '-c', 'ip link set lo up && exec sleep infinity'], {
    stdio: 'ignore',
  })
  const pid = holder.pid ?? 0
  await until('a network of its own', async () => (await readlink(`/proc/${pid}/ns/net`)) !== own)
  return { pid, close: () => void holder.kill('SIGKILL') }
}

// what systemd-nspawn ends with when the machine asks for another start
const RESTART = 133

interface Powered {
  /** Of systemd-nspawn. */
  pid(): Promise<number>
  readonly ended: Promise<number | null>
  type(text: string): void
  kill(): void
}

/** @param keyboard  whether somebody sits at its terminal, who needs one of this computer */
export async function bootMachine({ folder }: Root, name: string, { keyboard = false } = {}): Promise<Machine> {
  const network = await startLan()
  const groups = ownControlGroups(name)
  let shown = ''
  function power(): Powered {
    const command = [
      ...['nsenter', '-t', String(network.pid), '-n', '--', 'unshare', '--mount', '--propagation', 'private'],
      ...['systemd-nspawn', '--quiet', '--register=no', '--keep-unit', `--machine=${name}`, `--directory=${folder}`],
      ...['--network-veth', '--boot', `--console=${keyboard ? 'interactive' : 'read-only'}`],
    ]
    const [program = '', ...args] = [
      ...groups.within,
      ...(keyboard
        ? ['script', '--quiet', '--flush', '--return', '--command', `exec ${command.join(' ')}`, '/dev/null']
        : command),
    ]
    const nspawn = spawn(program, args, { stdio: [keyboard ? 'pipe' : 'ignore', 'pipe', 'pipe'] })
    for (const stream of [nspawn.stdout, nspawn.stderr])
      stream?.on('data', (chunk: Buffer) => {
        shown += chunk.toString()
      })
    const ended = new Promise<number | null>(resolve => nspawn.once('exit', resolve))
    const own = nspawn.pid ?? 0
    return {
      pid: async () => (keyboard ? ((await childrenOf(own))[0] ?? 0) : own),
      ended,
      type: text => void nspawn.stdin?.write(text),
      kill: () => void nspawn.kill('SIGKILL'),
    }
  }
  let nspawn = power()
  /** Its process 1. */
  async function leader(): Promise<number> {
    const [pid] = await childrenOf(await nspawn.pid())
    if (pid === undefined) throw new Error(`The machine has ended:\n${shown.slice(-3_000)}`)
    return pid
  }
  const inside = async (...command: readonly string[]): Promise<Ran> =>
    run('nsenter', ['-t', String(await leader()), '-m', '-u', '-i', '-n', '-p', '-C', '--', ...command])
  async function must(...command: readonly string[]): Promise<string> {
    const { code, out, err } = await inside(...command)
    if (code !== 0) throw new Error(`In the machine ${command.join(' ')} ended with ${code}: ${err}${out}`)
    return out
  }
  const lan = (program: string, ...args: readonly string[]): Promise<Ran> =>
    run('nsenter', ['-t', String(network.pid), '-n', '--', program, ...args])

  /** Gives both ends of the cable their addresses where they lack them: each time is a change that the machine sees. */
  async function address(): Promise<void> {
    for (const [at, device, own] of [
      [lan, `ve-${name}`, LAN],
      [inside, 'host0', ADDRESS],
    ] as const) {
      if ((await at('ip', '-oneline', 'address', 'show', 'dev', device)).out.includes(` ${own}/`)) continue
      await at('ip', 'address', 'add', `${own}/24`, 'dev', device)
      await at('ip', 'link', 'set', device, 'up')
    }
  }

  /** Plugs the cable in, after each start. */
  async function connect(): Promise<void> {
    await until('a network', async () => (await inside('ip', 'link', 'show', 'host0')).code === 0)
    await until('systemd', async () => {
      if ((await inside('systemctl', 'is-active', 'dbus.socket')).code !== 0) return false
      const isEnabled = (await inside('systemctl', 'is-enabled', 'systemd-networkd')).out.trim() === 'enabled'
      return !isEnabled || (await inside('systemctl', 'is-active', 'systemd-networkd')).code === 0
    })
    await address()
  }

  async function call(method: string, path: string, { token, json, form, headers = {} }: Call = {}): Promise<Answer> {
    const { code, out, err } = await lan(
      'curl',
      ...['-sS', '--max-time', '120', '-X', method, '--cacert', `${folder}/etc/gatehouse/authority/authority.crt`],
      ...(token === undefined ? [] : ['-H', `Authorization: Bearer ${token}`]),
      ...(json === undefined ? [] : ['-H', 'Content-Type: application/json', '-d', JSON.stringify(json)]),
      ...Object.entries(form ?? {}).flatMap(([field, value]) => ['-F', `${field}=${value}`]),
      ...Object.entries(headers).flatMap(([field, value]) => ['-H', `${field}: ${value}`]),
      ...['-w', '\n%{http_code}', `https://${ADDRESS}${path}`],
    )
    if (code !== 0) throw new Error(`curl ended with ${code}: ${err}`)
    const [, text = '', status = ''] = /^([^]*)\n(\d+)$/.exec(out) ?? []
    return { status: Number(status), text, body: text.startsWith('{') ? JSON.parse(text) : {} }
  }

  async function healthy(): Promise<void> {
    await until('an answer over TLS', async () => {
      // an end of the start before goes with its address, and networkd drops what it did not give
      await address()
      return (await call('GET', '/health/ready')).status === 200
    }).catch(async (error: Error) => {
      const shown = await Promise.all(
        [
          ['ip', '-brief', 'address'],
          ['systemctl', 'list-jobs', '--no-pager'],
          ['journalctl', '-b', '-p', 'notice', '-n', '40', '-o', 'short-monotonic', '--no-pager'],
        ].map(async command => (await inside(...command)).out),
      )
      throw new Error([error.message, ...shown].join('\n'))
    })
    await until('the end of the start', async () =>
      ['running', 'degraded'].includes((await inside('systemctl', 'is-system-running')).out.trim()),
    )
  }

  await until('process 1', leader)
  await connect()
  return {
    address: ADDRESS,
    outer: network.pid,
    inside,
    must,
    lan,
    call,
    until,
    healthy,
    plugIn: connect,
    terminal: () => shown,
    type: text => nspawn.type(text),
    async reboot(begin = () => inside('systemctl', 'reboot')) {
      await begin()
      const code = await nspawn.ended
      if (code !== RESTART) throw new Error(`The machine ended with ${code} in place of a restart`)
      nspawn = power()
      await until('process 1', leader)
      await connect()
    },
    async cutPower() {
      process.kill(await leader(), 'SIGKILL')
      await nspawn.ended
      nspawn = power()
      await until('process 1', leader)
      await connect()
    },
    async close() {
      await inside('systemctl', 'poweroff').catch(() => undefined)
      const late = setTimeout(30_000, 'late', { ref: false })
      if ((await Promise.race([nspawn.ended, late])) === 'late') nspawn.kill()
      await nspawn.ended
      network.close()
      groups.close()
    },
  }
}
