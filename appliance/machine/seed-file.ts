import { Value } from '@sinclair/typebox/value'
import { isIP } from 'node:net'
import { VERBS, type AskedWith } from '../../server/machine/protocol.ts'
import { escaped } from './escaped.ts'
import { Refused } from './ports.ts'
import { checkNetwork } from './verbs/network.ts'

/** What a stick gives a machine at its first start. What is undefined stays as it is. */
export interface Seed {
  readonly network: AskedWith<'network.set'> | undefined
  readonly time: AskedWith<'time.set'> | undefined
  /** Public keys for root, each a line of `authorized_keys`. */
  readonly keys: readonly string[]
  /** Networks that may reach SSH; none: it stays off. */
  readonly sshFrom: readonly string[]
}

/** A fault of a seed: with its line, where it has one. */
export interface SeedFault {
  readonly line?: number
  readonly said: string
}
export type ReadSeed = { readonly seed: Seed } | { readonly faults: readonly SeedFault[] }

export const MOST_SEED_BYTES = 64 * 1024

const SEVERAL = ['dns', 'time_servers', 'authorized_key', 'ssh_from'] as const
const ONCE = ['host_name', 'address', 'gateway', 'zone'] as const
type Several = (typeof SEVERAL)[number]
type Once = (typeof ONCE)[number]
const isSeveral = (name: string): name is Several => (SEVERAL as readonly string[]).includes(name)
const isOnce = (name: string): name is Once => (ONCE as readonly string[]).includes(name)

const KNOWN = `Known are ${[...ONCE, ...SEVERAL].join(', ')}.`
/** A name that somebody may have meant: others are not repeated. */
const NAME = /^[a-z][a-z0-9_-]{0,30}$/

const KEY =
  /^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521)|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com) ([A-Za-z0-9+/]+={0,3})(?: [^\n]*)?$/

/** Whether it is one public key, without options, whose bytes say the same kind. RFC 4253, 6.6 */
function isPublicKey(text: string): boolean {
  const [, kind = '', encoded = ''] = KEY.exec(text) ?? []
  const bytes = Buffer.from(encoded, 'base64')
  return kind !== '' && bytes.length > 36 && bytes.toString('latin1', 4, 4 + bytes.readUInt32BE(0)) === kind
}

function isNetwork(text: string): boolean {
  const [, host = '', bits = ''] = /^([0-9a-f.:]+)\/(0|[1-9]\d{0,2})$/i.exec(text) ?? []
  const family = isIP(host)
  return family !== 0 && Number(bits) <= (family === 4 ? 32 : 128)
}

type Lines = ReadonlyMap<string, readonly { readonly value: string; readonly line: number }[]>

function readLines(text: string, faults: SeedFault[]): Lines {
  const found = new Map<string, { value: string; line: number }[]>()
  for (const [n, raw] of text
    .replace(/^\ufeff/, '')
    .split(/\r\n?|\n/)
    .entries()) {
    const line = n + 1
    const trimmed = raw.trim()
    if (trimmed === '' || /^[#;]/.test(trimmed)) continue
    const [, name = '', value = ''] = /^([\w-]+)\s*=\s*(.*)$/.exec(trimmed) ?? []
    // what stands there may be a secret that went astray, and this is shown and kept in logs: it is not repeated
    if (/PRIVATE KEY/.test(trimmed))
      faults.push({
        line,
        said: 'A private key never leaves the machine where it was made. authorized_key takes the public one.',
      })
    else if (/^\[.*\]$/.test(trimmed)) faults.push({ line, said: 'This file has no sections. Leave the line out.' })
    else if (name === '') faults.push({ line, said: 'This is no line of the form name = value.' })
    else if (!NAME.test(name)) faults.push({ line, said: `This name is not known. ${KNOWN}` })
    else if (/pass|secret|token/i.test(name))
      faults.push({
        line,
        said: `${name}: a stick never holds a password or a secret. Nothing has one before the first admin is made.`,
      })
    else if (!isOnce(name) && !isSeveral(name)) faults.push({ line, said: `${name} is not known. ${KNOWN}` })
    else if (!/[^\s,]/.test(value)) faults.push({ line, said: `${name} has no value. Leave the line out.` })
    else if (isOnce(name) && found.has(name)) faults.push({ line, said: `${name} stands there twice.` })
    else {
      const values = name === 'authorized_key' || isOnce(name) ? [value] : value.split(/[\s,]+/).filter(Boolean)
      found.set(name, [...(found.get(name) ?? []), ...values.map(one => ({ value: one, line }))])
    }
  }
  return found
}

/** What does not fit the verb is a fault. */
function checked<V extends 'network.set' | 'time.set'>(
  verb: V,
  asked: Record<string, unknown>,
  lineOf: (name: string) => number | undefined,
  faults: SeedFault[],
): AskedWith<V> | undefined {
  const [wrong] = Value.Errors(VERBS[verb].with, asked)
  if (wrong === undefined) return asked as AskedWith<V>
  const field = wrong.path.split('/')[1] ?? ''
  const name = field === 'servers' ? 'time_servers' : field
  const line = lineOf(name)
  const { maxItems, rule } = wrong.schema as { readonly maxItems?: number; readonly rule?: string }
  const said =
    maxItems === undefined
      ? `${name}: “${escaped(String(wrong.value))}” is not ${rule ?? 'an address or a host name'}.`
      : `${name}: there are at most ${maxItems}.`
  faults.push({ ...(line === undefined ? {} : { line }), said })
  return undefined
}

const NAMED: readonly string[] = ['host_name', 'address', 'gateway', 'dns']

/**
 * Reads `gatehouse.ini` of a stick: all of it is right, or nothing is taken.
 * @param hasZone  whether the machine knows a time zone
 */
export function readSeed(bytes: Buffer, hasZone: (zone: string) => boolean): ReadSeed {
  if (bytes.length > MOST_SEED_BYTES) return { faults: [{ said: 'The file is longer than 64 KB.' }] }
  const text = bytes.toString('utf8')
  if (!Buffer.from(text).equals(bytes) || text.includes('\0'))
    return { faults: [{ said: 'The file is no text in UTF-8.' }] }
  const faults: SeedFault[] = []
  const lines = readLines(text, faults)
  const all = (name: string): string[] => (lines.get(name) ?? []).map(({ value }) => value)
  const one = (name: string): string | undefined => all(name)[0]
  const lineOf = (name: string): number | undefined => lines.get(name)?.[0]?.line
  const given = (name: string, value: unknown): Record<string, unknown> =>
    value === undefined ? {} : { [name]: value }
  const several = (name: string): string[] | undefined => (lines.has(name) ? all(name) : undefined)

  const address = one('address')
  const method = address === undefined || address.toLowerCase() === 'dhcp' ? 'dhcp' : 'static'
  const wish = {
    ...given('host_name', one('host_name')),
    method,
    ...given('address', method === 'static' ? address : undefined),
    ...given('gateway', one('gateway')),
    ...given('dns', several('dns')),
  }
  const network = NAMED.some(name => lines.has(name)) ? checked('network.set', wish, lineOf, faults) : undefined
  if (network !== undefined)
    try {
      checkNetwork(network)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      const line = lineOf('gateway') ?? lineOf('address') ?? lineOf('dns')
      faults.push({ ...(line === undefined ? {} : { line }), said: error.message })
    }
  const times = { ...given('zone', one('zone')), ...given('servers', several('time_servers')) }
  const time = Object.keys(times).length === 0 ? undefined : checked('time.set', times, lineOf, faults)
  if (time?.zone !== undefined && !hasZone(time.zone))
    faults.push({
      line: lineOf('zone') ?? 0,
      said: `This machine knows no zone ${time.zone}. Zones are named as Europe/Vienna.`,
    })
  for (const { value, line } of lines.get('authorized_key') ?? [])
    if (!isPublicKey(value))
      faults.push({ line, said: 'authorized_key is one public key without options, as a file id_ed25519.pub has it.' })
  for (const { value, line } of lines.get('ssh_from') ?? [])
    if (!isNetwork(value))
      faults.push({ line, said: `ssh_from: “${escaped(value)}” is no network. Write it as 10.0.0.0/8.` })
  if (lines.has('ssh_from') && !lines.has('authorized_key'))
    faults.push({ line: lineOf('ssh_from') ?? 0, said: 'ssh_from without an authorized_key lets nobody in.' })
  if (faults.length === 0 && lines.size === 0) faults.push({ said: 'There is nothing in the file.' })
  if (faults.length > 0) return { faults: faults.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0)) }
  return { seed: { network, time, keys: all('authorized_key'), sshFrom: all('ssh_from') } }
}

/** A fault as a line of the screen. */
export const printFault = ({ line, said }: SeedFault): string => (line === undefined ? said : `Line ${line}: ${said}`)
