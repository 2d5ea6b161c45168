import { findText, must, removeFile, writeText, type Ports } from '../ports.ts'

export const NETWORK_FILE = '/etc/systemd/network/10-gatehouse.network'
const PENDING = '/var/lib/gatehouse-machine/network.json'
export const HOLDS_SECONDS = 90

/** A change that is not kept yet, and what was before it; a file is null where there was none. */
export interface Pending {
  readonly interface: string
  readonly goes_back_at: string
  /** Of the clock that nobody sets, in the start of the machine that has this id. */
  readonly up_seconds: number
  readonly boot_id: string
  readonly before: {
    readonly network: string | null
    readonly hostname: string | null
    readonly hosts: string | null
  }
}

export async function findPending(ports: Ports): Promise<Pending | undefined> {
  const text = await findText(ports, PENDING)
  return text === undefined ? undefined : (JSON.parse(text) as Pending)
}

export const writePending = (ports: Ports, pending: Pending): Promise<void> =>
  writeText(ports, PENDING, `${JSON.stringify(pending)}\n`, 0o600)
export const endPending = (ports: Ports): Promise<void> => removeFile(ports, PENDING)

/** Milliseconds until it goes back; 0 when it should have, also because the machine was restarted in between. */
export async function dueInMs(ports: Ports, { boot_id, up_seconds }: Pending): Promise<number> {
  if (boot_id !== (await ports.bootId())) return 0
  return Math.max(0, Math.round((up_seconds - ports.upSeconds()) * 1000))
}

/** Makes the kernel and the others use what the files say. */
export async function applyNetwork(ports: Ports, cable: string): Promise<void> {
  await must(ports, 'hostname', ['-F', '/etc/hostname'])
  await must(ports, 'networkctl', ['reload'])
  await must(ports, 'networkctl', ['reconfigure', cable])
  // these read the name when they start; the second one renews the certificate
  for (const unit of ['avahi-daemon.service', 'gatehouse-status.service'])
    await ports.run('systemctl', ['--no-block', 'try-restart', unit])
}

export async function putBack(ports: Ports, path: string, text: string | null): Promise<void> {
  if (text === null) await removeFile(ports, path)
  else await writeText(ports, path, text)
}

/** What was before the change is again; done twice it changes nothing. */
export async function goBack(ports: Ports, pending: Pending): Promise<void> {
  const { before } = pending
  await putBack(ports, NETWORK_FILE, before.network)
  await putBack(ports, '/etc/hosts', before.hosts)
  await putBack(ports, '/etc/hostname', before.hostname)
  await applyNetwork(ports, pending.interface)
  await endPending(ports)
  ports.log('network: nobody kept the change, so what was before is again')
}
