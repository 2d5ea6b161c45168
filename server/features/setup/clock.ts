import { ToolFailed, type Exec } from '../../lib/exec.ts'

/** Whether something sets the clock of this machine right, as the machine itself says it. */
export interface ClockSync {
  /** null: this machine cannot tell. */
  readonly synchronised: boolean | null
  /** The program that said so; null: none is here that answers. */
  readonly said_by: string | null
}

interface Witness {
  readonly name: string
  readonly path: string
  readonly args: readonly string[]
  readonly read: (out: string) => boolean | undefined
}

/** The bit of the kernel's clock status that says that nothing steers it. Source: adjtimex(2), STA_UNSYNC */
const UNSYNC = 0x40

const WITNESSES: readonly Witness[] = [
  {
    name: 'timedatectl',
    path: '/usr/bin/timedatectl',
    args: ['show', '--property=NTPSynchronized', '--value'],
    read: out => ({ yes: true, no: false })[out.trim()],
  },
  {
    name: 'adjtimex',
    path: '/usr/sbin/adjtimex',
    args: ['--print'],
    read: out => {
      const [, status] = /^\s*status: (\d+)/m.exec(out) ?? []
      return status === undefined ? undefined : (Number(status) & UNSYNC) === 0
    },
  },
]

/** Asks what is installed, in turn, until one of them answers. In a container mostly none does. */
export async function askClockSync(exec: Exec): Promise<ClockSync> {
  for (const { name, path, args, read } of WITNESSES) {
    try {
      const { code, out } = await exec(path, args, {
        env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' },
        deadlineMs: 3_000,
        maxOutputBytes: 16 * 1024,
      })
      const synchronised = code === 0 ? read(out.toString('utf8')) : undefined
      if (synchronised !== undefined) return { synchronised, said_by: name }
    } catch (error) {
      if (!(error instanceof ToolFailed)) throw error
    }
  }
  return { synchronised: null, said_by: null }
}
