import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { chmod, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { uptime } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fsyncFolder } from '../../server/lib/atomic.ts'

/** How a program ended. `code` is null when it could not be started or took too long; `err` says which. */
export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}
export interface RunOptions {
  /** By default two minutes: a machine that is busy is no reason to give up. */
  readonly timeoutMs?: number
  /** Its standard input. */
  readonly input?: string
  /** Hears what it prints, as it prints it. */
  readonly onText?: (text: string) => void
  /** Beside PATH, LANG and LC_ALL. */
  readonly env?: Readonly<Record<string, string>>
}

/** All that a verb may use of the machine. Tests give a folder of their own and recorded outputs. */
export interface Ports {
  /** Where the machine's `/` is. */
  readonly root: string
  now(): Date
  wait(ms: number): Promise<void>
  /** Seconds since the machine started, whatever its clock is set to. */
  upSeconds(): number
  /** Another one after each start of the machine. */
  bootId(): Promise<string>
  /** Runs a program with these arguments; no shell reads them. Never throws. */
  run(program: string, args: readonly string[], options?: RunOptions): Promise<Ran>
  /** Asks one DNS server for a name. @returns how long the answer took @throws with the code of node:dns */
  askDns(server: string, name: string): Promise<number>
  /** A line of the journal. */
  log(line: string): void
}

/** What a person is told when a verb does not do it: a sentence with the way out. */
export class Refused extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.name = 'Refused'
    this.code = code
  }
}

/** A path of the machine, such as `/etc/hostname`, below the root of these ports. */
export const at = ({ root }: Ports, path: string): string => join(root, path)

/** The text of a file; undefined where there is none. */
export async function findText(ports: Ports, path: string): Promise<string | undefined> {
  try {
    return await readFile(at(ports, path), 'utf8')
  } catch {
    return undefined
  }
}

/** Writes a file whole or not at all, also when the power goes. */
export async function writeText(ports: Ports, path: string, text: string, mode = 0o644): Promise<void> {
  const file = at(ports, path)
  await mkdir(dirname(file), { recursive: true })
  const part = `${file}.${randomUUID().slice(0, 8)}.new`
  const handle = await open(part, 'wx', mode)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  // whatever the umask is
  await chmod(part, mode)
  await rename(part, file)
  await fsyncFolder(dirname(file))
}

export async function removeFile(ports: Ports, path: string): Promise<void> {
  await rm(at(ports, path), { force: true })
}

/** As `run`, and it has to succeed. @returns what it printed @throws Refused with what it said */
export async function must(
  ports: Ports,
  program: string,
  args: readonly string[],
  options?: RunOptions,
): Promise<string> {
  const { code, out, err } = await ports.run(program, args, options)
  if (code === 0) return out
  const command = [program, ...args].join(' ')
  const said = (err.trim() || out.trim()).split('\n').slice(-3).join(' ')
  throw new Refused(
    'program_failed',
    said === ''
      ? `${command} did not do it. journalctl -u gatehouse-machine says more.`
      : `${command} did not do it: ${said}. journalctl -u gatehouse-machine says more.`,
  )
}

const MOST_OUTPUT = 4 * 1024 ** 2

function runProgram(
  program: string,
  args: readonly string[],
  { timeoutMs = 120_000, input, env, onText }: RunOptions = {},
) {
  return new Promise<Ran>(resolve => {
    const child = spawn(program, args, {
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      env: {
        PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        LANG: 'C.UTF-8',
        LC_ALL: 'C.UTF-8',
        ...env,
      },
    })
    let out = ''
    let err = ''
    let isLate = false
    const late = globalThis.setTimeout(() => {
      isLate = true
      child.kill('SIGKILL')
    }, timeoutMs)
    child.stdout?.on('data', (chunk: Buffer) => {
      onText?.(chunk.toString())
      if (out.length < MOST_OUTPUT) out += chunk.toString()
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      if (err.length < MOST_OUTPUT) err += chunk.toString()
    })
    child.on('error', error => {
      clearTimeout(late)
      resolve({ code: null, out, err: `${program} cannot be started: ${error.message}` })
    })
    child.on('close', code => {
      clearTimeout(late)
      resolve(
        isLate
          ? { code: null, out, err: `${program} took longer than ${timeoutMs / 1000} seconds` }
          : { code, out, err },
      )
    })
    if (input !== undefined) {
      // it may end before it has read everything
      child.stdin?.on('error', () => undefined)
      child.stdin?.end(input)
    }
  })
}

/** The machine that this program runs on. */
export function machinePorts(): Ports {
  return {
    root: '/',
    now: () => new Date(),
    wait: ms => setTimeout(ms),
    upSeconds: uptime,
    bootId: async () => (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim(),
    run: runProgram,
    async askDns(server, name) {
      const resolver = new Resolver({ timeout: 2_000, tries: 1 })
      resolver.setServers([server.includes(':') ? `[${server}]` : server])
      const began = performance.now()
      try {
        await resolver.resolve4(name)
      } catch (error) {
        // that there is no such name is an answer, too
        if (!['ENOTFOUND', 'ENODATA'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
      }
      return Math.round(performance.now() - began)
    },
    log: line => void process.stdout.write(`<6>${line.replaceAll('\n', ' ')}\n`),
  }
}
