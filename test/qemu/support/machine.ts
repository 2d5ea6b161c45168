import { spawn } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { openMonitor, type Monitor } from './monitor.ts'
import { callOver, shownAuthority, type CallTo } from './wire.ts'

export const OVMF = { code: '/usr/share/OVMF/OVMF_CODE_4M.fd', vars: '/usr/share/OVMF/OVMF_VARS_4M.fd' }
// without KVM, on a computer that has other work
const PATIENCE_MS = 1_800_000

export interface Power {
  /** qcow2; it is written to. */
  readonly disk: string
  readonly firmware?: 'bios' | 'uefi'
  /** What the clock of its board says. */
  readonly rtc?: string
  readonly cable?: 'in' | 'none'
  /** A state of it that was saved on this disk; otherwise it starts cold. */
  readonly from?: string
}

/** What whoever stands at the machine reads, and what whoever connects is shown. */
export interface Seen {
  readonly token: string
  readonly onScreen: string
  readonly onWire: string
}

export interface Machine {
  readonly monitor: Monitor
  /** All that its serial line said. */
  serial(): string
  type(text: string): void
  /** Whole seconds since power. */
  seconds(): number
  /** @throws Error after half an hour, or when it has ended */
  until<T>(what: string, look: () => Promise<T | undefined | false> | T | undefined | false): Promise<T>
  /** Once it answers. */
  wire(): Promise<CallTo>
  /** Once the screen has a token and the wire an answer. */
  seen(): Promise<Seen>
  /** Ready: the service itself answers. */
  ready(): Promise<CallTo>
  /** Plugs a network in, as a card that it did not have. */
  connect(): Promise<void>
  /** Ends it at once; what it had not yet written through is lost. */
  cut(): Promise<void>
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise(resolve => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

const hexOf = (shown: string): string => shown.replaceAll(/\s/g, '')

/** The last that a screen shows of these. */
const lastOf = (text: string, pattern: RegExp): string => [...text.matchAll(pattern)].at(-1)?.[1] ?? ''

/**
 * Powers a machine on, under QEMU's own emulation (KVM is not asked for: where it is broken it hangs) and without a way
 * to the outside.
 */
export async function powerOn({ disk, firmware = 'bios', rtc, cable = 'in', from }: Power): Promise<Machine> {
  const work = await mkdtemp(join(tmpdir(), 'gatehouse-qemu-'))
  const port = await freePort()
  const lan = `user,id=lan,restrict=on,hostfwd=tcp:127.0.0.1:${port}-:443`
  copyFileSync(OVMF.vars, join(work, 'vars.fd'))
  const flash = [
    ...['-drive', `if=pflash,format=raw,readonly=on,file=${OVMF.code}`],
    ...['-drive', `if=pflash,format=raw,file=${join(work, 'vars.fd')}`],
  ]
  const qemu = spawn(
    'nice',
    [
      ...['-n', '1', 'qemu-system-x86_64'],
      ...['-accel', 'tcg,thread=multi,tb-size=512', '-cpu', 'max', '-M', 'q35', '-m', '2560', '-smp', '2'],
      ...['-nodefaults', '-display', 'none', '-serial', 'stdio', ...(firmware === 'uefi' ? flash : [])],
      // what it writes through is kept, what it does not may be lost: as a disk of its own does
      ...['-drive', `file=${disk},if=virtio,format=qcow2,cache=writeback`],
      ...['-netdev', lan, '-device', 'pcie-root-port,id=port0,chassis=1', '-device', 'qemu-xhci,id=usb'],
      ...(cable === 'in' ? ['-device', 'virtio-net-pci,netdev=lan,romfile=,bus=port0'] : []),
      ...['-device', 'virtio-rng-pci', '-qmp', `unix:${work}/monitor,server=on,wait=off`],
      ...(rtc === undefined ? [] : ['-rtc', `base=${rtc}`]),
      ...(from === undefined ? [] : ['-loadvm', from]),
    ],
    { stdio: ['pipe', 'pipe', 'pipe'] },
  )
  let serial = ''
  for (const stream of [qemu.stdout, qemu.stderr])
    stream.on('data', (chunk: Buffer) => {
      serial += chunk.toString()
    })
  // it may end before it reads
  qemu.stdin.on('error', () => undefined)
  const ended = new Promise(resolve => qemu.once('exit', resolve))
  const began = performance.now()
  const seconds = (): number => Math.round((performance.now() - began) / 1000)
  const until: Machine['until'] = async (what, look) => {
    const asked = performance.now()
    let last = ''
    for (;;) {
      const found = await Promise.resolve()
        .then(look)
        .catch((error: Error) => void (last = error.message))
      if (found !== undefined && found !== false) return found as never
      if (performance.now() - asked > PATIENCE_MS || qemu.exitCode !== null)
        throw new Error(
          `Still no ${what} ${seconds()} s after power (${last}). Its serial line ends with:\n${serial.slice(-3_000)}`,
        )
      await setTimeout(500)
    }
  }
  const monitor = await until('monitor', () => openMonitor(join(work, 'monitor')))
  const wire = async (): Promise<CallTo> => callOver(port, await until('answer over TLS', () => shownAuthority(port)))
  async function clear(): Promise<void> {
    await ended
    monitor.close()
    await rm(work, { recursive: true, force: true })
  }
  return {
    monitor,
    serial: () => serial,
    type: text => void qemu.stdin.write(text),
    seconds,
    until,
    wire,
    async seen() {
      const authority = await until('answer over TLS', () => shownAuthority(port))
      const token = await until(
        'setup token on the screen',
        () => lastOf(serial, /Setup token {2}([0-9A-Z-]{23})/g) || false,
      )
      const onScreen = hexOf(lastOf(serial, /Fingerprint((?:\s+[0-9A-F]{4}){16})/g))
      return { token, onScreen, onWire: authority.fingerprint256.replaceAll(':', '') }
    },
    async ready() {
      const call = await wire()
      await until('health', async () => (await call('GET', '/health/ready')).status === 200)
      return call
    },
    async connect() {
      await monitor.ask('device_add', { driver: 'virtio-net-pci', netdev: 'lan', bus: 'port0', id: 'card' })
    },
    async cut() {
      // the leader of `nice` is QEMU itself: it was executed in its place
      qemu.kill('SIGKILL')
      await clear()
    },
  }
}
