import { isIPv4 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { Bonjour, type Browser, type Service } from 'bonjour-service'
import type { FoundAppliance } from './bridge.ts'
import type { Clock, Log } from './ports.ts'

/**
 * Appliances that say in the local network that they are there. Anybody may say so: what is found is a hint for typing,
 * and is trusted no more than an address that was typed.
 */
export interface Discovery {
  list(): readonly FoundAppliance[]
  onMoved(listener: () => void): void
  /** Asks anew on all interfaces of now. */
  again(): void
  stop(): void
}

/** What an appliance announces (avahi): `_gatehouse._tcp`, with `v` for its version and `setup` for `done`. */
const TYPE = 'gatehouse'
const MOST = 50
const LOOK_MS = 15_000

/** What is shown of a word from the network: printable, and short. */
const shown = (text: unknown, most: number): string =>
  String(text ?? '')
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .slice(0, most)

/** Reads an announcement; undefined where it names no address to try. */
export function readAnnouncement(
  service: Pick<Service, 'name' | 'host' | 'port'> & Partial<Service>,
): FoundAppliance | undefined {
  const address = service.addresses?.find(isIPv4) ?? ''
  const host = address !== '' ? address : shown(service.host, 253).replace(/\.$/, '')
  if (!/^[a-z0-9.-]+$/i.test(host) || !Number.isInteger(service.port) || service.port < 1 || service.port > 65_535)
    return undefined
  const txt = (service.txt ?? {}) as Record<string, unknown>
  const version = shown(txt.v, 40)
  return {
    name: shown(service.name, 63) || host,
    address: service.port === 443 ? host : `${host}:${service.port}`,
    version: version === '' ? null : version,
    is_set_up: txt.setup === undefined ? null : txt.setup === 'done',
  }
}

/** The addresses to ask from: the system would ask on the one interface of the default route only. */
export function ownAddresses(interfaces = networkInterfaces()): string[] {
  return Object.values(interfaces)
    .flat()
    .filter(one => one !== undefined && !one.internal && one.family === 'IPv4')
    .map(one => one?.address ?? '')
}

/** @param addresses  the interfaces of now, each by its address */
export function startDiscovery({
  clock,
  log,
  addresses = ownAddresses,
}: {
  readonly clock: Clock
  readonly log: Log
  readonly addresses?: () => readonly string[]
}): Discovery {
  const listeners = new Set<() => void>()
  let found = new Map<string, FoundAppliance>()
  let asked = new Map<string, { readonly bonjour: Bonjour; readonly browser: Browser }>()

  function tell(): void {
    for (const listener of listeners) listener()
  }
  const keyOf = (service: Pick<Service, 'fqdn'>): string => service.fqdn
  function up(service: Service): void {
    const one = readAnnouncement(service)
    if (one === undefined || (found.size >= MOST && !found.has(keyOf(service)))) return
    found.set(keyOf(service), one)
    tell()
  }
  function begin(address: string): void {
    const failed = (error: unknown): void => log.line('warn', `mDNS on ${address}: ${(error as Error).message}`)
    try {
      // options of multicast-dns, which the types of bonjour-service leave out; a socket bound to the
      // address of the interface gets no answer that goes to the group
      const bonjour = new Bonjour({ interface: address, bind: '0.0.0.0' } as object, failed)
      const browser = bonjour.find({ type: TYPE }, up)
      browser.on('down', service => {
        if (found.delete(keyOf(service))) tell()
      })
      asked.set(address, { bonjour, browser })
    } catch (error) {
      failed(error)
    }
  }
  function endAll(): void {
    for (const { browser, bonjour } of asked.values()) {
      browser.stop()
      bonjour.destroy()
    }
    asked = new Map()
  }
  function look(): void {
    const now = addresses()
    const isSame = now.length === asked.size && now.every(address => asked.has(address))
    if (!isSame) {
      endAll()
      for (const address of now) begin(address)
    } else for (const { browser } of asked.values()) browser.update()
  }
  look()
  const stop = clock.every(LOOK_MS, look)
  return {
    list: () => [...found.values()],
    onMoved: listener => {
      listeners.add(listener)
    },
    again: () => {
      endAll()
      found = new Map()
      look()
      tell()
    },
    stop: () => {
      stop()
      endAll()
    },
  }
}
