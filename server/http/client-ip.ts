import { BlockList, isIP } from 'node:net'

/** The name for the other end of a unix socket: it is this machine. */
const LOCAL = 'local'

/** One spelling for each address: `::ffff:10.0.0.1`, `::ffff:a00:1`, `10.0.0.1:80` and `10.0.0.1` are one. */
function plain(text: string): string {
  const address =
    /^\[([^\]]*)\](?::\d+)?$/.exec(text.trim())?.[1] ??
    /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text.trim())?.[1] ??
    text.trim()
  const dotted = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (dotted !== undefined) return dotted
  const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/i.exec(address) ?? []
  if (high === undefined || low === undefined) return address.toLowerCase()
  const [h, l] = [parseInt(high, 16), parseInt(low, 16)]
  return [h >> 8, h & 255, l >> 8, l & 255].join('.')
}

/** @param networks  addresses or CIDR blocks @throws Error naming the one that is neither */
export function createTrust(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIP(address)
    if (family === 0 || (bits !== undefined && !(Number(bits) <= (family === 6 ? 128 : 32))))
      throw new Error(`TRUSTED_PROXIES: ${network} is no address`)
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
 * Whether the other end of the connection may name the client's address; `undefined` is a unix socket, which only this
 * machine reaches.
 */
export function isProxy(peer: string | undefined, isTrusted: (address: string) => boolean): boolean {
  return peer === undefined || peer === '' || isTrusted(plain(peer))
}

/**
 * The address of the client: walks X-Forwarded-For from the right, as long as the hop that wrote it is trusted. Entries
 * that a client made up stand further left and are never reached.
 */
export function clientIp(
  peer: string | undefined,
  forwardedFor: string | undefined,
  isTrusted: (address: string) => boolean,
): string {
  const hops = (forwardedFor ?? '')
    .split(',')
    .map(plain)
    .filter(hop => hop !== '')
  let address = peer === undefined || peer === '' ? LOCAL : plain(peer)
  while (address === LOCAL || isTrusted(address)) {
    const hop = hops.pop()
    if (hop === undefined || isIP(hop) === 0) return address
    address = hop
  }
  return address
}
