import { must, writeText, type Ports } from '../ports.ts'

/** `/usr/lib/gatehouse/reset` sees it at the next start, and removes it last, so that a power cut changes nothing. */
export const RESET_MARK = '/var/lib/gatehouse-machine/factory-reset'

/** Everything of this machine is removed while it starts anew, before anything of it runs. */
export async function resetFactory(ports: Ports): Promise<void> {
  await writeText(ports, RESET_MARK, `${ports.now().toISOString()}\n`, 0o600)
  ports.log('screen: the machine is reset to what it was when it came')
  await must(ports, 'systemctl', ['reboot'])
}
