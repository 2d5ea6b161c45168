import { readdir } from 'node:fs/promises'
import type { Answered, AskedWith, Mark, ServiceView } from '../../../server/machine/protocol.ts'
import { at, must, Refused, type Ports } from '../ports.ts'

interface Kept {
  readonly unit: string
  readonly word: string
  readonly does: string
}

/** The services of an appliance; all of them may be restarted, and nothing else may. */
export const SERVICES: readonly Kept[] = [
  { unit: 'gatehouse.service', word: 'Gatehouse', does: 'serves the console and the API' },
  { unit: 'gatehouse-web.service', word: 'nginx', does: 'speaks TLS and sends packages' },
  { unit: 'gatehouse-postgres.service', word: 'PostgreSQL', does: 'keeps what is known of packages and people' },
  { unit: 'clamav-daemon.service', word: 'clamd', does: 'looks for malware in packages' },
  { unit: 'clamav-freshclam.service', word: 'freshclam', does: 'fetches signatures of malware' },
  { unit: 'chrony.service', word: 'chrony', does: 'keeps the clock' },
  { unit: 'gatehouse-firewall.service', word: 'Firewall', does: 'lets in what is served' },
  {
    unit: 'gatehouse-status.service',
    word: 'Screen',
    does: 'shows addresses on the screen, and renews the certificate',
  },
  { unit: 'avahi-daemon.service', word: 'Avahi', does: 'announces this machine in the local network' },
]
const PROPERTIES =
  'Id,LoadState,ActiveState,SubState,Result,ActiveEnterTimestamp,StateChangeTimestamp,MemoryCurrent,NRestarts,ConditionResult,ConditionTimestamp'

/** What `systemctl show` says of each unit, by its name. */
export function parseShown(out: string): Map<string, Record<string, string>> {
  const blocks = out.split(/\n\s*\n/).map(block =>
    Object.fromEntries(
      block.split('\n').flatMap(line => {
        const split = line.indexOf('=')
        return split < 1 ? [] : [[line.slice(0, split), line.slice(split + 1)] as const]
      }),
    ),
  )
  return new Map(blocks.flatMap(block => (block['Id'] === undefined ? [] : [[block['Id'], block] as const])))
}

const timeOf = (stamp = ''): string | null => {
  const [, seconds] = /^@(\d+)/.exec(stamp) ?? []
  return seconds === undefined || seconds === '0' ? null : new Date(Number(seconds) * 1000).toISOString()
}
const bytesOf = (text = ''): number | null => {
  // systemd says 2^64-1 for what it does not count
  return /^\d{1,15}$/.test(text) ? Number(text) : null
}

function judge(unit: string, shown: Record<string, string>, hasSignatures: boolean): { mark: Mark; said: string } {
  const { ActiveState: active = '', SubState: sub = '', Result: result = '', LoadState: load = '' } = shown
  if (load === 'not-found') return { mark: 'unknown', said: 'is not installed' }
  if (load === 'masked') return { mark: 'bad', said: `is switched off: systemctl unmask ${unit}` }
  if (active === 'active') return { mark: 'good', said: sub === 'exited' ? 'is set' : 'runs' }
  if (active === 'activating' || active === 'reloading') {
    return sub === 'auto-restart'
      ? { mark: 'bad', said: `ended by itself (${result}) and is started again` }
      : { mark: 'warning', said: 'is starting' }
  }
  if (unit === 'clamav-daemon.service' && !hasSignatures)
    return { mark: 'bad', said: 'does not run, since there are no signatures: load them, or let freshclam fetch them' }
  if (active === 'deactivating') return { mark: 'warning', said: 'is stopping' }
  if (active === 'failed') return { mark: 'bad', said: `failed (${result}): journalctl -u ${unit}` }
  if (active === 'inactive' && shown['ConditionResult'] === 'no' && shown['ConditionTimestamp'] !== '')
    return { mark: 'unknown', said: 'is not for this kind of machine, as its unit says' }
  if (active === 'inactive') return { mark: 'bad', said: 'does not run' }
  return { mark: 'unknown', said: active === '' ? 'systemd does not say' : `is in the state ${active}` }
}

async function hasSignatures(ports: Ports): Promise<boolean> {
  const names = await readdir(at(ports, '/var/lib/clamav')).catch(() => [])
  return names.some(name => /\.(cvd|cld|cud|[hnlm][ds][bu]|ndu|ldb|ndb)$/.test(name))
}

export async function readServices(ports: Ports): Promise<ServiceView[]> {
  const units = SERVICES.map(one => one.unit)
  const { out, err } = await ports.run('systemctl', ['show', '--timestamp=unix', `--property=${PROPERTIES}`, ...units])
  const shown = parseShown(out)
  const signatures = await hasSignatures(ports)
  return SERVICES.map(({ unit, word, does }) => {
    const found = shown.get(unit)
    const judged =
      found === undefined
        ? {
            mark: 'unknown' as const,
            said: err.trim() === '' ? 'systemd does not answer' : `systemd does not answer: ${err.trim()}`,
          }
        : judge(unit, found, signatures)
    return {
      unit,
      word,
      does,
      ...judged,
      since: timeOf(
        found?.['ActiveState'] === 'active' ? found['ActiveEnterTimestamp'] : found?.['StateChangeTimestamp'],
      ),
      memory: bytesOf(found?.['MemoryCurrent']),
      restarts: Number(found?.['NRestarts'] ?? 0) || 0,
      may_restart: found !== undefined && found['LoadState'] === 'loaded',
    }
  })
}

export async function restartService(
  ports: Ports,
  { unit }: AskedWith<'service.restart'>,
): Promise<Answered<'service.restart'>> {
  const kept = SERVICES.find(one => one.unit === unit)
  if (kept === undefined)
    throw new Refused(
      'not_allowed',
      `${unit} is no service of this appliance. These may be restarted: ${SERVICES.map(one => one.unit).join(', ')}.`,
    )
  // whoever asked is ended by this; it must hear the answer first
  if (unit === 'gatehouse.service') {
    await must(ports, 'systemd-run', ['--quiet', '--collect', '--on-active=1s', 'systemctl', 'restart', unit])
    return { said: `${kept.word} restarts now.` }
  }
  await must(ports, 'systemctl', ['restart', unit], { timeoutMs: 120_000 })
  return { said: `${kept.word} was restarted.` }
}
