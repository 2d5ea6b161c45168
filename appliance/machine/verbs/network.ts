import { BlockList, isIP } from 'node:net'
import type { Answered, AskedWith } from '../../../server/machine/protocol.ts'
import { findText, Refused, writeText, type Ports } from '../ports.ts'
import {
  applyNetwork,
  dueInMs,
  endPending,
  findPending,
  goBack,
  HOLDS_SECONDS,
  NETWORK_FILE,
  writePending,
  type Pending,
} from './network-pending.ts'
import { findCable } from './network-read.ts'

type Wish = AskedWith<'network.set'>

const refuse = (message: string): never => {
  throw new Refused('bad_network', message)
}

/** @throws Refused with what does not fit */
export function checkNetwork({ method, address, gateway, dns = [] }: Wish): void {
  for (const one of dns) if (isIP(one) === 0) refuse(`${one} is no address of a DNS server. Write it as 10.20.1.1.`)
  if (method === 'dhcp') {
    if (address !== undefined || gateway !== undefined)
      refuse('With DHCP the address and the gateway come from the network: leave both out, or take a fixed address.')
    return
  }
  const [, host = '', bits = ''] = /^(.*)\/(\d+)$/.exec(address ?? '') ?? []
  const family = isIP(host)
  if (family === 0) refuse('A fixed address is written with the length of its network: 10.20.1.10/24.')
  if (Number(bits) < 1 || Number(bits) > (family === 4 ? 32 : 128))
    refuse(`The length of the network is from 1 to ${family === 4 ? 32 : 128}, not ${bits}.`)
  if (gateway === undefined) return
  if (isIP(gateway) !== family) refuse(`${gateway} is no gateway for ${host}: both are IPv4, or both IPv6.`)
  const network = new BlockList()
  const words = family === 4 ? 'ipv4' : 'ipv6'
  network.addSubnet(host, Number(bits), words)
  const isLinkLocal = family === 6 && /^fe[89ab]/i.test(gateway)
  if (gateway === host || (!isLinkLocal && !network.check(gateway, words)))
    refuse(`The gateway ${gateway} is not another machine in the network of ${address}. Look at both again.`)
}

/** The file of networkd. */
export function networkFile(cable: string, { method, address, gateway, dns }: Wish): string {
  const lines = [
    /* @wc-ignore */ '# set at the console or at the screen of this machine',
    '[Match]',
    `Name=${cable}`,
    '[Network]',
  ]
  if (method === 'dhcp') lines.push('DHCP=yes')
  else lines.push('DHCP=no', 'IPv6AcceptRA=no', `Address=${address}`)
  if (gateway !== undefined) lines.push(`Gateway=${gateway}`)
  for (const one of dns ?? []) lines.push(`DNS=${one}`)
  lines.push('LLMNR=no', 'MulticastDNS=no')
  if (method === 'dhcp')
    for (const part of ['DHCPv4', 'DHCPv6', 'IPv6AcceptRA'])
      lines.push(`[${part}]`, 'UseDomains=yes', ...(dns === undefined || dns.length === 0 ? [] : ['UseDNS=no']))
  return `${lines.join('\n')}\n`
}

/** `/etc/hosts` with this machine's own name in its line. */
export function hostsFile(text: string, name: string): string {
  const short = name.split('.')[0] ?? name
  const line = `127.0.1.1 ${name === short ? name : `${name} ${short}`}`
  return /^127\.0\.1\.1\s.*$/m.test(text)
    ? text.replace(/^127\.0\.1\.1\s.*$/m, line)
    : `${text.replace(/\n*$/, '\n')}${line}\n`
}

const timers = new WeakMap<Ports, NodeJS.Timeout>()

/** Waits for the moment at which a change goes back. Called at each start of the program, too. */
export async function watchPending(ports: Ports): Promise<void> {
  clearTimeout(timers.get(ports))
  const pending = await findPending(ports)
  if (pending === undefined) return
  const inMs = await dueInMs(ports, pending)
  if (inMs === 0) {
    await goBack(ports, pending)
    return
  }
  timers.set(
    ports,
    setTimeout(() => {
      watchPending(ports).catch((error: unknown) => {
        ports.log(`network: what was before could not be put back, tried again in 5 seconds: ${String(error)}`)
        timers.set(
          ports,
          setTimeout(() => void watchPending(ports).catch(() => undefined), 5_000),
        )
      })
    }, inMs),
  )
}

async function prepare(ports: Ports, cable: string): Promise<Pending> {
  const earlier = await findPending(ports)
  const held = {
    interface: cable,
    goes_back_at: new Date(ports.now().getTime() + HOLDS_SECONDS * 1000).toISOString(),
    up_seconds: ports.upSeconds() + HOLDS_SECONDS,
    boot_id: await ports.bootId(),
  }
  // a second change before the first is kept goes back to what was before both
  if (earlier !== undefined) return { ...earlier, ...held }
  const [network, hostname, hosts] = await Promise.all(
    [NETWORK_FILE, '/etc/hostname', '/etc/hosts'].map(async path => (await findText(ports, path)) ?? null),
  )
  return { ...held, before: { network: network ?? null, hostname: hostname ?? null, hosts: hosts ?? null } }
}

export async function setNetwork(ports: Ports, asked: Wish): Promise<Answered<'network.set'>> {
  checkNetwork(asked)
  const { link, path } = await findCable(ports)
  if (link === undefined)
    throw new Refused(
      'no_cable',
      'This machine has no network card that the system knows. Plug one in, or give the virtual machine one.',
    )
  const cable = link.ifname
  if (path === undefined)
    throw new Refused(
      'not_ours',
      `The network of this machine is not kept by systemd-networkd, so it is changed where it is kept: /etc/network/interfaces, NetworkManager or netplan.`,
    )
  const pending = await prepare(ports, cable)
  await writePending(ports, pending)
  try {
    if (asked.host_name !== undefined) {
      await writeText(
        ports,
        '/etc/hosts',
        hostsFile((await findText(ports, '/etc/hosts')) ?? '127.0.0.1 localhost\n', asked.host_name),
      )
      await writeText(ports, '/etc/hostname', `${asked.host_name}\n`)
    }
    await writeText(ports, NETWORK_FILE, networkFile(cable, asked))
    await applyNetwork(ports, cable)
  } catch (error) {
    await goBack(ports, pending)
    throw error
  }
  await watchPending(ports)
  return {
    said: `The network is changed for ${HOLDS_SECONDS} seconds. Open the console at its new address and keep it; otherwise it goes back.`,
    goes_back_at: pending.goes_back_at,
  }
}

export async function keepNetwork(ports: Ports): Promise<Answered<'network.keep'>> {
  if ((await findPending(ports)) === undefined)
    throw new Refused(
      'nothing_to_keep',
      'There is no change of the network that waits to be kept. It has gone back already, or was kept.',
    )
  clearTimeout(timers.get(ports))
  await endPending(ports)
  return { said: 'The network stays as it is now.' }
}
