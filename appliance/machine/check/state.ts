import { X509Certificate } from 'node:crypto'
import { listSignatures } from '../../../server/scanners/clamav-signatures.ts'
import { at, findText, type Ports } from '../ports.ts'
import { readDebian } from '../update/debian.ts'
import { readCertificate } from '../verbs/certificates.ts'
import { readDisks } from '../verbs/disks.ts'
import { readRemoteLog } from '../verbs/remote-log.ts'
import { readServices } from '../verbs/services.ts'
import { readTime } from '../verbs/time-read.ts'
import { bad, unknown, warning, type Finding } from './finding.ts'

const DAY_MS = 86_400_000
const OLD_SIGNATURES_DAYS = 7
const OLD_UPDATES_DAYS = 3
const AUTHORITY_DAYS = 180

const daysUntil = (ports: Ports, text: string): number =>
  Math.floor((Date.parse(text) - ports.now().getTime()) / DAY_MS)
/** Whole days that have passed. */
const daysSince = (ports: Ports, text: string): number =>
  Math.floor((ports.now().getTime() - Date.parse(text)) / DAY_MS)

export async function lookAtCertificate(ports: Ports): Promise<Finding[]> {
  const { mark, said } = await readCertificate(ports)
  const own =
    mark === 'good'
      ? []
      : [{ what: 'Certificate', mark, said, way_out: 'Machine, Certificate: put one in, or go back to its own.' }]
  const pem = await findText(ports, '/etc/gatehouse/authority/authority.crt')
  if (pem === undefined)
    return [
      ...own,
      bad('Certificate', 'The authority of this machine is not there.', 'systemctl restart gatehouse-first-boot'),
    ]
  const days = daysUntil(ports, new X509Certificate(pem).validTo)
  if (days >= AUTHORITY_DAYS) return own
  return [
    ...own,
    warning(
      'Certificate',
      `The authority of this machine ends in ${days} days; consoles trust it.`,
      'Put a certificate of the company in before that.',
    ),
  ]
}

export async function lookAtClock(ports: Ports): Promise<Finding[]> {
  const { mark, said } = await readTime(ports)
  return mark === 'good'
    ? []
    : [{ what: 'Clock', mark, said, way_out: 'Machine, Time: name time servers that this machine reaches.' }]
}

export async function lookAtDisks(ports: Ports): Promise<Finding[]> {
  return (await readDisks(ports))
    .filter(({ mark }) => mark !== 'good')
    .map(({ path, mark, said }) => ({
      what: 'Disk',
      mark,
      said: `The disk of ${path} is not well: ${said}.`,
      way_out: 'Make the virtual disk larger and restart: the last partition grows by itself.',
    }))
}

/** Those that do not run; one that starts or stops at this moment is no finding. clamd is said with its signatures. */
export async function lookAtServices(ports: Ports): Promise<Finding[]> {
  return (await readServices(ports))
    .filter(({ mark, unit }) => mark === 'bad' && unit !== 'clamav-daemon.service')
    .map(({ unit, word, mark, said }) => ({
      what: 'Services',
      mark,
      said: `The service ${word} is not well: it ${said}.`,
      way_out: `systemctl restart ${unit}`,
    }))
}

export async function lookAtSignatures(ports: Ports): Promise<Finding[]> {
  const way =
    'freshclam fetches them where there is internet: journalctl -u clamav-freshclam. Otherwise load them on the page Engines, or from a stick.'
  const [newest] = await listSignatures(at(ports, '/var/lib/clamav'))
  if (newest === undefined)
    return [
      bad('Signatures', 'There are no signatures of malware, so clamd does not run and every upload is held.', way),
    ]
  const days = daysSince(ports, newest.built_at)
  const clamd = (await readServices(ports)).find(({ unit }) => unit === 'clamav-daemon.service')
  return [
    ...(days > OLD_SIGNATURES_DAYS
      ? [warning('Signatures', `The newest signatures of malware are ${days} days old.`, way)]
      : []),
    ...(clamd?.mark === 'bad'
      ? [bad('Services', `clamd ${clamd.said}, so every upload is held.`, 'journalctl -u clamav-daemon says why.')]
      : []),
  ]
}

export async function lookAtRemoteLog(ports: Ports): Promise<Finding[]> {
  const log = await readRemoteLog(ports)
  // by UDP nobody ever knows; that is a choice and no fault
  if (log === null || log.mark === 'good' || log.protocol === 'udp') return []
  return [
    {
      what: 'Remote log',
      mark: log.mark,
      said: log.said,
      way_out: `Look at ${log.host}, port ${log.port}, or set another one.`,
    },
  ]
}

/** Security updates of Debian: when somebody looked last, and what waits. */
export async function lookAtUpdates(ports: Ports): Promise<Finding[]> {
  const what = 'Updates of Debian'
  const { waiting, looked_at, said } = await readDebian(ports)
  if (waiting === null) {
    const way =
      looked_at === null
        ? 'They are looked for daily where there is internet; otherwise name a mirror in /etc/apt/sources.list.d.'
        : 'apt-get --simulate upgrade says why.'
    return [unknown(what, said, way)]
  }
  const days = daysSince(ports, looked_at ?? '')
  if (days > OLD_UPDATES_DAYS)
    return [
      warning(
        what,
        `They were looked for ${days} days ago.`,
        'systemctl status apt-daily.timer; the archive of Debian has to be reached, or a mirror named.',
      ),
    ]
  if (waiting === 0) return []
  const way =
    'unattended-upgrade installs them now. By itself that is done as the window says, and at night where there is none.'
  return [warning(what, said, way)]
}
