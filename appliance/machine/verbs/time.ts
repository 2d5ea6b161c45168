import { symlink, rename, rm } from 'node:fs/promises'
import { isIP } from 'node:net'
import type { Answered, AskedWith } from '../../../server/machine/protocol.ts'
import { at, findText, must, Refused, removeFile, writeText, type Ports } from '../ports.ts'
import { readTime } from './time-read.ts'

const CONFIGURATION = '/etc/chrony/chrony.conf'
const SOURCES = '/etc/chrony/sources.d/gatehouse.sources'
const ASIDE = '#gatehouse# '

async function setZone(ports: Ports, zone: string): Promise<void> {
  const found = await findText(ports, `/usr/share/zoneinfo/${zone}`)
  if (zone.includes('..') || found?.startsWith('TZif') !== true)
    throw new Refused('no_such_zone', `This machine knows no zone ${zone}. Zones are named as Europe/Vienna.`)
  const link = at(ports, '/etc/localtime')
  await rm(`${link}.new`, { force: true })
  await symlink(`/usr/share/zoneinfo/${zone}`, `${link}.new`)
  await rename(`${link}.new`, link)
  await writeText(ports, '/etc/timezone', `${zone}\n`)
}

/** Debian's own servers in chrony's configuration: put aside while there are others. */
export function withPools(text: string, isUsed: boolean): string {
  const lines = text.split('\n').map(line => (line.startsWith(ASIDE) ? line.slice(ASIDE.length) : line))
  return lines.map(line => (!isUsed && /^(pool|server)\s/.test(line) ? `${ASIDE}${line}` : line)).join('\n')
}

async function setServers(ports: Ports, servers: readonly string[]): Promise<void> {
  const text = await findText(ports, CONFIGURATION)
  if (text === undefined)
    throw new Refused(
      'no_chrony',
      'chrony is not installed on this machine, so it asks no time servers. Run provision.sh again.',
    )
  await writeText(ports, CONFIGURATION, withPools(text, servers.length === 0))
  if (servers.length === 0) await removeFile(ports, SOURCES)
  else await writeText(ports, SOURCES, servers.map(one => /* @wc-ignore */ `server ${one} iburst\n`).join(''))
  await must(ports, 'systemctl', ['restart', 'chrony.service'])
}

async function setNow(ports: Ports, now: string): Promise<void> {
  const { servers } = await readTime(ports)
  const answering = servers.filter(one => one.mark === 'good')
  if (answering.length > 0)
    throw new Refused(
      'servers_answer',
      `The clock comes from time servers that answer: ${answering.map(one => one.name).join(', ')}. Take other ones if it is wrong.`,
    )
  await must(ports, 'date', ['--utc', `--set=@${Math.floor(Date.parse(now) / 1000)}`])
  // a virtual machine may have no clock of its own
  await ports.run('hwclock', ['--systohc', '--utc'])
}

export async function setTime(ports: Ports, asked: AskedWith<'time.set'>): Promise<Answered<'time.set'>> {
  const { zone, servers, now } = asked
  for (const one of servers ?? [])
    if (/^[\d.:]+$/.test(one) && isIP(one) === 0)
      throw new Refused('bad_server', `${one} is neither an address nor a name of a time server.`)
  if (zone !== undefined) await setZone(ports, zone)
  if (servers !== undefined) await setServers(ports, servers)
  if (now !== undefined) await setNow(ports, now)
  const done = [
    ...(zone === undefined ? [] : [`The zone is ${zone}.`]),
    ...(servers === undefined
      ? []
      : [servers.length === 0 ? 'Time comes from the servers of Debian.' : `Time comes from ${servers.join(', ')}.`]),
    ...(now === undefined ? [] : ['The clock is set.']),
  ]
  return { said: done.length === 0 ? 'Nothing was changed.' : done.join(' ') }
}
