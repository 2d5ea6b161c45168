import { hostname } from 'node:os'
import type { Mark, NetworkView } from '../../../server/machine/protocol.ts'
import { findText, type Ports } from '../ports.ts'
import { findPending } from './network-pending.ts'

interface Link {
  readonly ifname: string
  readonly flags?: readonly string[]
  readonly operstate?: string
  readonly link_type?: string
  readonly addr_info?: readonly { readonly local?: string; readonly prefixlen?: number; readonly scope?: string }[]
}
interface Route {
  readonly gateway?: string
  readonly dev?: string
  readonly metric?: number
}

/** What `ip -j` printed; nothing where it is no JSON. */
export function parseIp<T>(out: string): T[] {
  try {
    const said: unknown = JSON.parse(out === '' ? '[]' : out)
    return Array.isArray(said) ? (said as T[]) : []
  } catch {
    return []
  }
}

/** The cable of this machine: that of the default route, else the first that is up and no loop. */
export function mainLink(links: readonly Link[], routes: readonly Route[]): Link | undefined {
  const [route] = [...routes].sort((a, b) => (a.metric ?? 0) - (b.metric ?? 0))
  const cables = links.filter(link => link.link_type !== 'loopback' && !/^(docker|br-|veth|virbr)/.test(link.ifname))
  return (
    cables.find(link => link.ifname === route?.dev) ??
    cables.find(link => link.flags?.includes('LOWER_UP')) ??
    cables[0]
  )
}

/** Addresses that others reach, as `10.20.1.10/24`. */
export const addressesOf = (link: Link | undefined): string[] =>
  (link?.addr_info ?? [])
    .filter(one => one.scope === 'global' && one.local !== undefined)
    .map(one => `${one.local}/${one.prefixlen ?? 32}`)

/** The servers of a resolv.conf. */
export const serversOf = (text: string): string[] => [
  ...new Set([...text.matchAll(/^nameserver\s+([0-9a-fA-F.:]+)/gm)].map(([, address = '']) => address)),
]

/** The file of networkd that rules a cable, from what `networkctl status` says; undefined where none does. */
export const networkFileOf = (status: string): string | undefined => /^\s*Network File:\s+(\/\S+)/m.exec(status)?.[1]

export function methodOf(file: string | undefined): NetworkView['method'] {
  if (file === undefined) return 'other'
  if (/^DHCP=(yes|true|on|1|ipv4|ipv6)\s*$/im.test(file)) return 'dhcp'
  return /^Address=/im.test(file) ? 'static' : 'other'
}

const DNS_WORDS: Readonly<Record<string, readonly [Mark, string]>> = {
  ETIMEOUT: ['bad', 'does not answer within two seconds'],
  ECONNREFUSED: ['bad', 'refuses the connection'],
  ESERVFAIL: ['warning', 'answers that it cannot find out (SERVFAIL)'],
  EREFUSED: ['warning', 'refuses to answer this machine'],
}

async function lookAtDns(ports: Ports, address: string, name: string): Promise<NetworkView['dns'][number]> {
  try {
    return { address, mark: 'good', said: `answers in ${await ports.askDns(address, name)} ms` }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    const [mark, said] = DNS_WORDS[code] ?? ['bad', `cannot be asked (${code || String(error)})`]
    return { address, mark, said }
  }
}

async function speedOf(ports: Ports, name: string | undefined): Promise<number | null> {
  const speed = Number((await findText(ports, `/sys/class/net/${name}/speed`)) ?? 0)
  return speed > 0 ? speed : null
}

/** The cable that this is about, and the file of networkd that rules it. */
export async function findCable(ports: Ports): Promise<{
  readonly link: Link | undefined
  readonly routes: readonly Route[]
  readonly path: string | undefined
}> {
  const [addresses, v4, v6] = await Promise.all([
    ports.run('ip', ['-j', 'address', 'show']),
    ports.run('ip', ['-j', 'route', 'show', 'default']),
    ports.run('ip', ['-j', '-6', 'route', 'show', 'default']),
  ])
  const routes = [...parseIp<Route>(v4.out), ...parseIp<Route>(v6.out)]
  const link = mainLink(parseIp<Link>(addresses.out), routes)
  const { out } =
    link === undefined ? { out: '' } : await ports.run('networkctl', ['--no-pager', '--lines=0', 'status', link.ifname])
  return { link, routes, path: networkFileOf(out) }
}

export const hostName = async (ports: Ports): Promise<string> =>
  (await findText(ports, '/etc/hostname'))?.trim() || hostname()

export async function readNetwork(ports: Ports): Promise<NetworkView> {
  const { link, routes, path } = await findCable(ports)
  const host_name = await hostName(ports)
  const resolved = await findText(ports, '/run/systemd/resolve/resolv.conf')
  const servers = serversOf(resolved ?? (await findText(ports, '/etc/resolv.conf')) ?? '')
  const pending = await findPending(ports)
  return {
    interface: link?.ifname ?? null,
    speed: await speedOf(ports, link?.ifname),
    host_name,
    method: methodOf(path === undefined ? undefined : await findText(ports, path)),
    addresses: addressesOf(link),
    gateway: routes.find(route => route.dev === link?.ifname && route.gateway !== undefined)?.gateway ?? null,
    dns: await Promise.all(servers.map(address => lookAtDns(ports, address, host_name))),
    goes_back_at: pending?.goes_back_at ?? null,
  }
}
