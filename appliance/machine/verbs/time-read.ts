import { readlink } from 'node:fs/promises'
import type { Mark, TimeView } from '../../../server/machine/protocol.ts'
import { at, findText, type Ports } from '../ports.ts'

const WARNING_MS = 1_000
const BAD_MS = 20_000

type Server = TimeView['servers'][number]

const STATES: Readonly<Record<string, readonly [Mark, string]>> = {
  '*': ['good', 'is followed'],
  '+': ['good', 'agrees'],
  '-': ['good', 'answers, and is not needed'],
  '~': ['warning', 'answers, and varies too much'],
  'x': ['bad', 'answers, and says another time than the others'],
  '?': ['bad', 'does not answer'],
}

/** Of `chronyc -c sources`: mode, state, name, stratum, poll, reach (octal), seconds, offsets. */
export function parseSources(out: string): Server[] {
  return out
    .split('\n')
    .map(line => line.split(','))
    .filter(([mode, , name]) => mode === '^' && name !== undefined)
    .map(([, state = '?', name = '', , , reach = '0']) => {
      const hasAnswered = Number.parseInt(reach, 8) > 0
      const [mark, said] = (hasAnswered && state === '?'
        ? (['warning', 'answers, and is looked at'] as const)
        : undefined) ??
        STATES[hasAnswered ? state : '?'] ?? ['unknown', 'is in a state that is not known']
      return { name, is_used: state === '*', mark, said }
    })
}

/** Of `chronyc -c tracking`: the clock minus the servers' time, in ms; null while it follows none. */
export function parseTracking(out: string): number | null {
  const fields = out.trim().split(',')
  const [reference = '', , stratum = '0', , offset = ''] = fields
  // 7F7F0101 is the local clock itself
  if (fields.length < 14 || ['', '00000000', '7F7F0101'].includes(reference) || stratum === '0') return null
  const seconds = Number(offset)
  return Number.isFinite(seconds) && offset !== '' ? Math.round(seconds * 1_000_000) / 1000 : null
}

export async function zoneOf(ports: Ports): Promise<string> {
  const link = await readlink(at(ports, '/etc/localtime')).catch(() => '')
  const [, zone] = /zoneinfo\/(.+)$/.exec(link) ?? []
  return zone ?? (await findText(ports, '/etc/timezone'))?.trim() ?? 'Etc/UTC'
}

function judge(servers: readonly Server[], drift: number | null): { mark: Mark; said: string } {
  if (drift !== null && Math.abs(drift) >= WARNING_MS) {
    const seconds = (Math.abs(drift) / 1000).toFixed(1)
    return {
      mark: Math.abs(drift) >= BAD_MS ? 'bad' : 'warning',
      said:
        drift > 0
          ? `The clock is ${seconds} seconds ahead; it is being set right.`
          : `The clock is ${seconds} seconds behind; it is being set right.`,
    }
  }
  if (drift !== null) return { mark: 'good', said: 'The clock is right.' }
  if (servers.length === 0)
    return { mark: 'warning', said: 'No time server is set: name one that this machine reaches.' }
  return servers.some(one => one.mark === 'good' || one.mark === 'warning')
    ? { mark: 'warning', said: 'The clock does not follow a server yet; this takes some minutes after a start.' }
    : { mark: 'warning', said: 'No time server answers: name one that this machine reaches, or set the clock by hand.' }
}

export async function readTime(ports: Ports): Promise<TimeView> {
  const [zone, sources, tracking] = await Promise.all([
    zoneOf(ports),
    ports.run('chronyc', ['-n', '-c', 'sources'], { timeoutMs: 5_000 }),
    ports.run('chronyc', ['-n', '-c', 'tracking'], { timeoutMs: 5_000 }),
  ])
  if (sources.code !== 0)
    return {
      zone,
      drift_ms: null,
      servers: [],
      mark: 'unknown',
      said: 'chrony does not answer, so nobody knows whether the clock is right: restart chrony.service.',
    }
  const servers = parseSources(sources.out)
  const drift_ms = parseTracking(tracking.out)
  return { zone, drift_ms, servers, ...judge(servers, drift_ms) }
}
