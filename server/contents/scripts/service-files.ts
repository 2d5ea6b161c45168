import type { InstallFact } from '../../core/install-facts.ts'
import type { OpenFile } from '../reader.ts'
import { hostsIn } from './hosts.ts'
import { showLine } from './scan-script.ts'

const MAX_BYTES = 256 * 1024
const UNIT = /^(?:usr\/)?(?:lib|etc)\/systemd\/(?:system|user)\/.+\.(?:service|socket|timer|path|conf)$/
const JOB = /^etc\/cron(?:tab$|\.(?:d|hourly|daily|weekly|monthly)\/[^.])|^var\/spool\/cron\/.|^etc\/anacrontab$/
const SOURCE = /^etc\/apt\/sources\.list|^etc\/(?:yum\.repos\.d|zypp\/repos\.d)\/|^etc\/apk\/repositories$/
const LISTENS = /^Listen(?:Stream|Datagram|SequentialPacket|FIFO|Netlink)=\s*(\S+)/gm
const SAYS =
  /^(?:Exec(?:Start|StartPre|StartPost|Stop|Reload)|On(?:Calendar|BootSec|UnitActiveSec)|PathChanged|User)=\s*(.+)/gm

/** Whether what stands in a file says more than its place. */
export const isServiceFile = (path: string): boolean => UNIT.test(path) || JOB.test(path) || SOURCE.test(path)

/**
 * What a unit starts and where it listens, what a cron job runs, which hosts they contact. Source:
 * systemd.socket(5), systemd.service(5), crontab(5)
 */
export async function serviceSays(file: OpenFile): Promise<Pick<InstallFact, 'text' | 'hosts' | 'listens'>> {
  if (file.size > MAX_BYTES) return { text: `not read: it has ${file.size} bytes` }
  const all = (await file.whole(MAX_BYTES)).toString('utf8').replaceAll('\r\n', '\n')
  const lines = all.split('\n').filter(line => !/^\s*[#;]/.test(line))
  const text = lines.join('\n')
  const hosts = hostsIn(text)
  const listens = [...new Set([...text.matchAll(LISTENS)].map(([, where = '']) => showLine(where)))].slice(0, 20)
  const isUnit = UNIT.test(file.path)
  const says = isUnit
    ? [...text.matchAll(SAYS)].map(([line]) => line)
    : lines.filter(line => line.trim() !== '' && !/^\s*\w+\s*=/.test(line)).slice(0, 3)
  return {
    ...(says.length === 0 ? {} : { text: showLine(says.join('; ')) }),
    ...(hosts.length === 0 ? {} : { hosts }),
    ...(listens.length === 0 ? {} : { listens }),
  }
}
