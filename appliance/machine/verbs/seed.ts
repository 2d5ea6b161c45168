import { constants, readFileSync } from 'node:fs'
import { chmod, mkdir, open } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { at, findText, must, Refused, writeText, type Ports } from '../ports.ts'
import { MOST_SEED_BYTES, printFault, readSeed, type Seed } from '../seed-file.ts'
import { readMedia } from './media.ts'
import { keepNetwork, setNetwork } from './network.ts'
import { setTime } from './time.ts'

export const AUTHORIZED_KEYS = '/root/.ssh/authorized_keys'
export const SSH_RULES = '/etc/gatehouse/firewall.d/ssh.nft'
/** The file of a stick. */
export const SEED_FILE = 'gatehouse.ini'

/** A seed that is on a stick and right, and what it would change. */
export interface FoundSeed {
  readonly seed: Seed
  /** The label of the stick. */
  readonly label: string
  /** A line for each change. */
  readonly changes: readonly string[]
}

function hasZone(ports: Ports): (zone: string) => boolean {
  return zone => {
    try {
      const path = at(ports, `/usr/share/zoneinfo/${zone}`)
      return !zone.includes('..') && readFileSync(path).toString('latin1', 0, 4) === 'TZif'
    } catch {
      return false
    }
  }
}

async function readBounded(path: string): Promise<Buffer> {
  // the stick is a stranger's: no link, no pipe, no endless file
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    if (!(await file.stat()).isFile()) throw new Error('no plain file')
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MOST_SEED_BYTES + 1), 0, MOST_SEED_BYTES + 1, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

function changesOf({ network, time, keys, sshFrom }: Seed): string[] {
  return [
    ...(network?.host_name === undefined ? [] : [`name ${network.host_name}`]),
    ...(network === undefined ? [] : [network.method === 'dhcp' ? 'address by DHCP' : `address ${network.address}`]),
    ...(network?.dns === undefined ? [] : [`DNS ${network.dns.join(', ')}`]),
    ...(time?.zone === undefined ? [] : [`zone ${time.zone}`]),
    ...(time?.servers === undefined ? [] : [`time from ${time.servers.join(', ')}`]),
    ...(keys.length === 0 ? [] : [`${keys.length === 1 ? '1 key' : `${keys.length} keys`} for SSH as root`]),
    ...(sshFrom.length === 0 ? [] : [`SSH from ${sshFrom.join(', ')}`]),
  ]
}

/**
 * The seed of the stick that is in. @returns undefined where no stick has one
 * @throws Refused with every fault, a line each; nothing was changed
 */
export async function findSeed(ports: Ports): Promise<FoundSeed | undefined> {
  const sticks = (await readMedia(ports)).filter(({ files }) => files.some(one => one.kind === 'seed'))
  const [stick, other] = sticks
  if (stick === undefined) return undefined
  if (other !== undefined)
    throw new Refused(
      'two_seeds',
      `Two sticks have a ${SEED_FILE}: ${stick.label} in ${stick.device} and ${other.label} in ${other.device}. Pull one out.`,
    )
  const bytes = await readBounded(join(stick.path, SEED_FILE)).catch((error: unknown) => {
    const why = (error as NodeJS.ErrnoException).code ?? String(error)
    throw new Refused('seed_unreadable', `${SEED_FILE} of the stick ${stick.label} cannot be read (${why}).`)
  })
  const read = readSeed(bytes, hasZone(ports))
  if ('faults' in read)
    throw new Refused(
      'bad_seed',
      [
        `${SEED_FILE} of the stick ${stick.label} is not taken, and nothing was changed:`,
        ...read.faults.slice(0, 10).map(printFault),
      ].join('\n'),
    )
  return { seed: read.seed, label: stick.label, changes: changesOf(read.seed) }
}

const rule = (network: string): string =>
  `add rule inet gatehouse input ${isIP(network.split('/')[0] ?? '') === 6 ? 'ip6' : 'ip'} saddr ${network} tcp dport 22 accept\n`

async function setKeys(ports: Ports, keys: readonly string[]): Promise<void> {
  const folder = at(ports, '/root/.ssh')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  const known = ((await findText(ports, AUTHORIZED_KEYS)) ?? '').split('\n').filter(line => line !== '')
  const all = [...new Set([...known, ...keys])]
  await writeText(ports, AUTHORIZED_KEYS, `${all.join('\n')}\n`, 0o600)
}

/** Makes the machine what a seed says. The network is not put back: who gave the stick stands there. */
export async function applySeed(ports: Ports, { network, time, keys, sshFrom }: Seed): Promise<void> {
  if (keys.length > 0) await setKeys(ports, keys)
  if (sshFrom.length > 0) {
    await writeText(ports, SSH_RULES, sshFrom.map(rule).join(''))
    await must(ports, 'systemctl', ['enable', 'ssh.service'])
    await must(ports, 'systemctl', ['--no-block', 'start', 'ssh.service'])
    await must(ports, 'systemctl', ['--no-block', 'reload', 'gatehouse-firewall.service'])
  }
  if (time !== undefined) await setTime(ports, time)
  if (network !== undefined) {
    await setNetwork(ports, network)
    await keepNetwork(ports)
  }
}
