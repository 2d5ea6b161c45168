import type { Answered } from '../../../server/machine/protocol.ts'
import { must, type Ports } from '../ports.ts'

// the answer must be on its way before the machine is
const DELAY = '--on-active=2s'

const later = (ports: Ports, verb: 'reboot' | 'poweroff'): Promise<string> =>
  must(ports, 'systemd-run', ['--quiet', '--collect', DELAY, '--timer-property=AccuracySec=100ms', 'systemctl', verb])

export async function powerRestart(ports: Ports): Promise<Answered<'power.restart'>> {
  await later(ports, 'reboot')
  return { said: 'The machine restarts now, and is back in about two minutes.' }
}

export async function powerOff(ports: Ports): Promise<Answered<'power.off'>> {
  await later(ports, 'poweroff')
  return { said: 'The machine switches itself off now. It is started again where it stands, or by its hypervisor.' }
}
