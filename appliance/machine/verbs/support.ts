import { mkdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { MediumView } from '../../../server/machine/protocol.ts'
import { at, findText, must, writeText, type Ports } from '../ports.ts'
import { hostName } from './network-read.ts'
import { readMachine } from './read.ts'
import type { Say } from './table.ts'

const WORK = '/run/gatehouse-machine/support'
const STICK = '/run/gatehouse-machine/stick'
/** Where it lies when there is no stick. */
export const SUPPORT_FOLDER = '/var/lib/gatehouse-machine/support'

/** File → what it is the output of. */
const PARTS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  'journal.txt': ['journalctl', '--no-pager', '--since=-7d', '--lines=50000'],
  'units.txt': ['systemctl', '--no-pager', '--all', '--full', 'list-units'],
  'failed.txt': ['systemctl', '--no-pager', '--full', 'status', '--failed'],
  'timers.txt': ['systemctl', '--no-pager', '--all', 'list-timers'],
  'check.txt': ['/usr/lib/gatehouse/check'],
  'addresses.txt': ['ip', '-d', 'address'],
  'routes.txt': ['ip', 'route', 'show', 'table', 'all'],
  'network.txt': ['networkctl', '--no-pager', '--lines=0', 'status', '--all'],
  'dns.txt': ['resolvectl', '--no-pager', 'status'],
  'sockets.txt': ['ss', '-tulpn'],
  'firewall.txt': ['nft', 'list', 'ruleset'],
  'time.txt': ['chronyc', '-n', 'tracking'],
  'time-servers.txt': ['chronyc', '-n', 'sources', '-v'],
  'disks.txt': ['df', '-hT'],
  'block-devices.txt': ['lsblk', '--output-all'],
  'mounts.txt': ['findmnt', '--all'],
  'memory.txt': ['free', '-h'],
  'processes.txt': ['ps', 'axo', 'pid,ppid,user,stat,rss,pcpu,etime,comm', '--sort=-rss'],
  'kernel.txt': ['dmesg', '--ctime'],
  'packages.txt': ['dpkg-query', '-W'],
  'releases.txt': ['ls', '-l', '/opt/gatehouse/', '/opt/gatehouse/releases/'],
}

/** What of a file of variables is a secret: the values of `secrets`, and what an admin put into `environment`. */
async function secretsOf(ports: Ports): Promise<string[]> {
  const text = `${(await findText(ports, '/etc/gatehouse/secrets')) ?? ''}\n${(await findText(ports, '/etc/gatehouse/environment')) ?? ''}`
  return [...text.matchAll(/^\s*\w*(?:SECRET|KEY|TOKEN|PASSWORD|PASSPHRASE|HASH|URL)\w*=["']?(.{6,}?)["']?$/gm)].map(
    ([, value = '']) => value,
  )
}

const without = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((said, secret) => said.replaceAll(secret, '***'), text)

/** Looks at everything and packs it into one file in `folder`, without secrets. @returns its path */
export async function packSupport(ports: Ports, folder: string, say: Say): Promise<string> {
  const secrets = await secretsOf(ports)
  const stamp = ports.now().toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')
  const name = `gatehouse-support-${await hostName(ports)}-${stamp}`
  const into = join(WORK, name)
  try {
    await mkdir(at(ports, into), { recursive: true, mode: 0o700 })
    for (const [file, [program, ...args]] of Object.entries(PARTS)) {
      say(`${file}`)
      const { out, err } = await ports.run(program, args, { timeoutMs: 60_000 })
      await writeText(ports, join(into, file), without(`${out}${err}`, secrets), 0o600)
    }
    const view = JSON.stringify(await readMachine(ports), null, 2)
    await writeText(ports, join(into, 'machine.json'), without(view, secrets), 0o600)
    const file = join(folder, `${name}.tar.gz`)
    await mkdir(at(ports, folder), { recursive: true })
    await must(ports, 'tar', ['--owner=0', '--group=0', '-C', at(ports, WORK), '-czf', at(ports, file), name], {
      timeoutMs: 300_000,
    })
    return file
  } finally {
    await rm(at(ports, into), { recursive: true, force: true })
  }
}

/** Writes it onto a stick, which is mounted for reading only: for this moment it is mounted anew. @returns its name */
export async function writeSupport(ports: Ports, medium: MediumView, say: Say): Promise<string> {
  const { device, file_system } = medium
  const unit = `gatehouse-medium@${basename(device)}.service`
  await ports.run('systemctl', ['stop', unit], { timeoutMs: 60_000 })
  try {
    await mkdir(at(ports, STICK), { recursive: true })
    const type = file_system === 'ntfs' ? 'ntfs3' : file_system
    await must(ports, 'mount', ['-i', '-t', type, '-o', 'rw,nosuid,nodev,noexec', device, at(ports, STICK)], {
      timeoutMs: 60_000,
    })
    try {
      const file = await packSupport(ports, STICK, say)
      await must(ports, 'sync', ['-f', at(ports, file)], { timeoutMs: 300_000 })
      ports.log(`screen: a support bundle was written onto ${medium.label} (${device})`)
      return basename(file)
    } finally {
      await must(ports, 'umount', [at(ports, STICK)], { timeoutMs: 300_000 })
    }
  } finally {
    await ports.run('systemctl', ['--no-block', 'start', unit])
  }
}
