import { BlockList, isIP } from 'node:net'

/** `::ffff:10.0.0.1` and `10.0.0.1` are one address. */
function plain(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address.trim())
  return mapped?.[1] ?? address.trim()
}

/** @param networks  addresses or CIDR blocks @throws Error naming what is neither */
export function createTrust(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIP(address)
    if (family === 0) throw new Error(`TRUSTED_PROXIES: ${network} is no address`)
    const kind = family === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, kind)
    else list.addSubnet(address, Number(bits), kind)
  }
  return address => {
    const family = isIP(address)
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4')
  }
}

/**
 * The address of the client: X-Forwarded-For walked from the right, as long as the hop that wrote it is trusted. What a
 * client puts there itself stands further left and is never reached.
 */
export function clientIp(peer: string, forwardedFor: string | undefined, isTrusted: (address: string) => boolean): string {
  const hops = (forwardedFor ?? '').split(',').map(plain).filter(hop => hop !== '')
  let address = plain(peer)
  while (isTrusted(address)) {
    const hop = hops.pop()
    if (hop === undefined || isIP(hop) === 0) return address
    address = hop
  }
  return address
}
