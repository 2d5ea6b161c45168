import { BlockList, isIP } from 'node:net'

/** Stands between this service and networks that it must not reach on somebody's behalf. */
export interface AddressRule {
  /**
   * Why a connection to this address is refused, or undefined. `host` is the name it was resolved from, in lower case.
   */
  refusal(address: string, host?: string): string | undefined
}

type Network = readonly [network: string, what: string]

/**
 * Not globally reachable. Source: IANA IPv4 Special-Purpose Address Registry (RFC 6890), with 6to4 relays (RFC 7526),
 * multicast and Azure's host. https://www.iana.org/assignments/iana-ipv4-special-registry
 */
const IPV4: readonly Network[] = [
  ['0.0.0.0/8', 'unspecified'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'private (carrier-grade NAT)'],
  ['127.0.0.0/8', 'loopback'],
  ['168.63.129.16/32', 'cloud metadata'],
  ['169.254.0.0/16', 'link-local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'reserved'],
  ['192.0.2.0/24', 'documentation'],
  ['192.88.99.0/24', '6to4 relay'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'benchmarking'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved or broadcast'],
]
/**
 * Of IPv6 only 2000::/3 is assigned for the world, and these of it are not. Source: IANA IPv6 Special-Purpose Address
 * Registry. https://www.iana.org/assignments/iana-ipv6-special-registry
 */
const IPV6: readonly Network[] = [
  ['::/128', 'unspecified'],
  ['::1/128', 'loopback'],
  ['::ffff:0:0/96', 'IPv4 in IPv6'],
  ['::/96', 'IPv4 in IPv6'],
  ['::ffff:0:0:0/96', 'IPv4 in IPv6'],
  ['64:ff9b::/96', 'IPv4 in IPv6 (NAT64)'],
  ['64:ff9b:1::/48', 'IPv4 in IPv6 (NAT64)'],
  ['2002::/16', 'IPv4 in IPv6 (6to4)'],
  ['2001::/32', 'IPv4 in IPv6 (Teredo)'],
  ['2001::/23', 'reserved'],
  ['2001:db8::/32', 'documentation'],
  ['3fff::/20', 'documentation'],
  ['fc00::/7', 'private'],
  ['fe80::/10', 'link-local'],
  ['fec0::/10', 'site-local'],
  ['ff00::/8', 'multicast'],
]
const GLOBAL_IPV6: Network = ['2000::/3', 'global']
// an interface id of ISATAP carries an IPv4 address (RFC 5214, 6.1)
const ISATAP = /:5efe:[\da-f]{1,4}:[\da-f]{1,4}$/i

/**
 * A listed host name may lie in these networks. Loopback and link-local (metadata services) need the address itself in
 * the list.
 */
const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7']
/** Never allowed, whatever the list says. */
const NEVER = ['0.0.0.0/8', '224.0.0.0/4', '255.255.255.255/32', '::/128', 'ff00::/8', '::ffff:0:0/96']

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** BlockList reads `::ffff:a.b.c.d` as IPv4, so each list holds one family and answers only about that. */
function listOf(networks: readonly string[], family: 'ipv4' | 'ipv6'): (address: string) => boolean {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    if (familyOf(address) === family)
      list.addSubnet(address, bits === undefined ? (family === 'ipv6' ? 128 : 32) : Number(bits), family)
  }
  return address => familyOf(address) === family && list.check(address, family)
}

function anyOf(networks: readonly string[]): (address: string) => boolean {
  const [v4, v6] = [listOf(networks, 'ipv4'), listOf(networks, 'ipv6')]
  return address => v4(address) || v6(address)
}

const NAMED = [...IPV4, ...IPV6].map(([network, what]) => ({ holds: anyOf([network]), what }))
const [isGlobal6, isPrivate, isNever] = [anyOf([GLOBAL_IPV6[0]]), anyOf(PRIVATE), anyOf(NEVER)]

/** The kind of an address that is not on the open internet. */
function kindOf(address: string): string | undefined {
  const named = NAMED.find(({ holds }) => holds(address))
  if (named !== undefined) return named.what
  if (isIP(address) === 6 && ISATAP.test(address)) return 'IPv4 in IPv6 (ISATAP)'
  return isIP(address) === 6 && !isGlobal6(address) ? 'reserved' : undefined
}

/**
 * One spelling for each address; undefined where it is none, or means something on this machine only (`fe80::1%eth0`).
 */
function plain(address: string): string | undefined {
  const family = isIP(address)
  if (family === 0 || address.includes('%')) return undefined
  return family === 4 ? address : new URL(`http://[${address}]/`).hostname.slice(1, -1)
}

/** Whether an address belongs to the open internet, where anybody could connect to it. */
export function isPublic(given: string): boolean {
  const address = plain(given)
  return address !== undefined && kindOf(address) === undefined
}

/** Whether a text is an address or a network: `10.1.2.3`, `10.0.0.0/8`, `fd00::/8`. */
export function isNetwork(text: string): boolean {
  const [address = '', bits, more] = text.split('/')
  const most = isIP(address) === 6 ? 128 : 32
  return (
    isIP(address) !== 0 &&
    more === undefined &&
    (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most))
  )
}

/**
 * Allows the open internet, and of the rest only what `allow` names.
 * @param allow  addresses, networks and host names, separated by commas; a host name lets that host lie in a private
 * network
 */
export function createAddressRule(allow: string): AddressRule {
  const entries = allow
    .split(',')
    .map(entry => entry.trim().toLowerCase())
    .filter(entry => entry !== '')
  const isListed = anyOf(entries.filter(isNetwork))
  const names = new Set(entries.filter(entry => !isNetwork(entry)))
  return {
    refusal(given, host = '') {
      const address = plain(given)
      if (address === undefined) return `${given.slice(0, 100)} is no address that is known everywhere`
      const kind = kindOf(address)
      if (kind === undefined) return undefined
      const isAllowed =
        !isNever(address) && (isListed(address) || (names.has(host.replace(/\.$/, '')) && isPrivate(address)))
      return isAllowed ? undefined : `${address} is no address of the open internet (${kind})`
    },
  }
}
