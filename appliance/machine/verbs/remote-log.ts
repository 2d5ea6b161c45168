import { readdir, stat } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { Answered, AskedWith, MachineView, Mark } from '../../../server/machine/protocol.ts'
import { certificatesIn } from '../pem.ts'
import { at, findText, must, Refused, removeFile, writeText, type Ports } from '../ports.ts'

const FOLDER = '/etc/gatehouse/remote-log'
const [CONFIGURATION, TARGET, AUTHORITY] = ['rsyslog.conf', 'target.json', 'authority.pem'].map(
  name => `${FOLDER}/${name}`,
) as [string, string, string]
const STATE = '/var/lib/gatehouse-log'
const UNIT = 'gatehouse-log.service'
const QUEUE = '500m'
// those that this machine's Debian trusts
const KNOWN_AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt'

type Target = NonNullable<AskedWith<'remote_log.set'>['target']>

/** What rsyslog reads: the journal and the audit log, as RFC 5424, kept on disk while nobody takes them. */
export function configurationOf({ host, port, protocol, authority }: Target): string {
  const isTls = protocol === 'tls'
  const tls = `StreamDriver="ossl" StreamDriverMode="1" StreamDriverAuthMode="x509/name" StreamDriverPermittedPeers="${host}"`
  const file = authority === undefined ? KNOWN_AUTHORITIES : AUTHORITY
  return `# Written by the machine's program: remote_log.set
global(workDirectory="${STATE}" maxMessageSize="64k"${isTls ? ` DefaultNetstreamDriverCAFile="${file}"` : ''})
module(load="imjournal" StateFile="journal" Ratelimit.Interval="0" IgnorePreviousMessages="on")
module(load="imfile")
input(type="imfile" File="/repos/audit/*.jsonl" Tag="gatehouse-audit:" Facility="local6" Severity="notice")
action(type="omfwd" name="remote" Target="${host}" Port="${port}" Protocol="${protocol === 'udp' ? 'udp' : 'tcp'}"
  ${protocol === 'udp' ? '' : `TCP_Framing="octet-counted" KeepAlive="on"${isTls ? ` ${tls}` : ''}`}
  Template="RSYSLOG_SyslogProtocol23Format" action.resumeRetryCount="-1" action.resumeInterval="10"
  queue.type="LinkedList" queue.filename="remote" queue.maxDiskSpace="${QUEUE}" queue.saveOnShutdown="on"
  queue.size="10000" queue.timeoutEnqueue="0")
`
}

function check({ host, protocol, authority }: Target): void {
  if (/^[\d.:]+$/.test(host) && isIP(host) === 0)
    throw new Refused('bad_host', `${host} is neither an address nor a name.`)
  if (protocol === 'tls' && isIP(host) !== 0)
    throw new Refused('needs_name', `With TLS the server shows who it is by its name. Give that in place of ${host}.`)
  if (protocol !== 'tls' && authority !== undefined && authority.trim() !== '')
    throw new Refused('no_tls', 'An authority is only looked at with TLS. Choose TLS, or leave the authority out.')
  if (authority === undefined || authority.trim() === '') return
  try {
    if (certificatesIn(authority).length > 0) return
  } catch {
    // said below
  }
  throw new Refused('bad_authority', "The authority's certificate cannot be read. It has to be PEM.")
}

async function write(ports: Ports, files: readonly (readonly [string, string | undefined])[]): Promise<void> {
  for (const [path, text] of files)
    if (text === undefined) await removeFile(ports, path)
    else await writeText(ports, path, text)
}

async function readTarget(ports: Ports): Promise<Omit<Target, 'authority'> | undefined> {
  try {
    return JSON.parse((await findText(ports, TARGET)) ?? '') as Target
  } catch {
    return undefined
  }
}

/** Sends the log from now on, or no longer; with one that rsyslog does not take, the one of before goes on. */
export async function setRemoteLog(
  ports: Ports,
  { target }: AskedWith<'remote_log.set'>,
): Promise<Answered<'remote_log.set'>> {
  if (target === null) {
    await must(ports, 'systemctl', ['stop', UNIT])
    await write(
      ports,
      [TARGET, AUTHORITY, CONFIGURATION].map(path => [path, undefined]),
    )
    return { said: 'The log stays on this machine.' }
  }
  check(target)
  const before = await Promise.all(
    [AUTHORITY, CONFIGURATION, TARGET].map(async path => [path, await findText(ports, path)] as const),
  )
  const { authority, ...rest } = target
  const pem = authority === undefined || authority.trim() === '' ? undefined : authority
  try {
    await write(ports, [
      [AUTHORITY, pem],
      [CONFIGURATION, configurationOf({ ...rest, ...(pem === undefined ? {} : { authority: pem }) })],
    ])
    await must(ports, 'rsyslogd', ['-N1', '-f', CONFIGURATION])
    await must(ports, 'systemctl', ['restart', UNIT])
    await writeText(ports, TARGET, `${JSON.stringify(rest)}\n`)
  } catch (error) {
    await write(ports, before)
    await ports.run('systemctl', [before.some(([, text]) => text !== undefined) ? 'restart' : 'stop', UNIT])
    throw error
  }
  return { said: `The log goes to ${rest.host}, port ${rest.port}, by ${rest.protocol}, from now on.` }
}

/** Bytes that wait on disk for a target that takes nothing. */
async function waiting(ports: Ports): Promise<number> {
  const folder = at(ports, STATE)
  const names = (await readdir(folder).catch(() => [])).filter(name => /^remote\.\d+$/.test(name))
  const sizes = await Promise.all(
    names.map(async name => (await stat(join(folder, name)).catch(() => undefined))?.size),
  )
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0)
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)

async function judge(
  ports: Ports,
  { port, protocol }: Omit<Target, 'authority'>,
): Promise<{ mark: Mark; said: string }> {
  const { out, code } = await ports.run('systemctl', ['is-active', UNIT])
  if (code !== 0)
    return {
      mark: 'bad',
      said: `The service that sends it does not run (${out.trim() || UNIT}). Restart it with systemctl restart ${UNIT}, or set it again.`,
    }
  if (protocol === 'udp') return { mark: 'unknown', said: 'It is sent; by UDP nobody says whether it arrives.' }
  const bytes = await waiting(ports)
  const kept =
    bytes === 0 ? [] : [`${megabytes(bytes)} MB wait on disk, and there is room for ${parseInt(QUEUE, 10)} MB.`]
  const with_ = (said: string): string => [said, ...kept].join(' ')
  const sockets = await ports.run('ss', ['-Htn', 'state', 'established', 'dport', '=', `:${port}`])
  if (sockets.code !== 0) return { mark: 'unknown', said: with_('Whether it is connected cannot be seen.') }
  return sockets.out.trim() === ''
    ? { mark: 'warning', said: with_('It is not connected: look at the address, the port and the firewall there.') }
    : { mark: 'good', said: with_('It is connected.') }
}

export async function readRemoteLog(ports: Ports): Promise<MachineView['remote_log']> {
  const target = await readTarget(ports)
  if (target === undefined) return null
  const { host, port, protocol } = target
  return { host, port, protocol, ...(await judge(ports, target)) }
}
