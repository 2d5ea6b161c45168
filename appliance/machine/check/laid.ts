import { createHash } from 'node:crypto'
import { lstat, readFile } from 'node:fs/promises'
import { at, findText, type Ports } from '../ports.ts'
import { bad, some, unknown, type Finding } from './finding.ts'

const AGAIN = 'Run provision.sh of this release again: it lays what it brings, and changes nothing else.'

/** What provision.sh laid: a line of sha256sum, and the mode. */
const DIGESTS = '/usr/lib/gatehouse/digests'

async function differs(ports: Ports, [digest, mode, path]: readonly [string, string, string]): Promise<boolean> {
  try {
    const [about, bytes] = await Promise.all([lstat(at(ports, path)), readFile(at(ports, path))])
    return (
      !about.isFile() ||
      about.uid !== 0 ||
      (about.mode & 0o777).toString(8) !== mode ||
      createHash('sha256').update(bytes).digest('hex') !== digest
    )
  } catch {
    return true
  }
}

/** Whether the files are those that were laid. */
export async function lookAtFiles(ports: Ports): Promise<Finding[]> {
  const text = await findText(ports, DIGESTS)
  if (text === undefined)
    return [unknown('Files', `${DIGESTS} is not there, so nobody knows which files were laid.`, AGAIN)]
  const lines = [...text.matchAll(/^([0-9a-f]{64}) ([0-7]{3}) (\/.+)$/gm)].map(
    ([, digest = '', mode = '', path = '']) => [digest, mode, path] as const,
  )
  const looked = await Promise.all(lines.map(async line => ((await differs(ports, line)) ? [line[2]] : [])))
  const found = looked.flat()
  if (found.length === 0) return []
  return [
    bad(
      'Files',
      found.length === 1
        ? `${some(found)} is not as laid: changed, gone, or with other rights.`
        : `${some(found)} are not as laid: changed, gone, or with other rights.`,
      AGAIN,
    ),
  ]
}

interface Right {
  readonly path: string
  readonly owner: string
  readonly mode: string
  /** It may be missing. */
  readonly may?: true
}
const RIGHTS: readonly Right[] = [
  { path: '/etc/gatehouse/secrets', owner: 'root:root', mode: '600' },
  { path: '/etc/gatehouse/authority', owner: 'root:root', mode: '700' },
  { path: '/etc/gatehouse/authority/authority.key', owner: 'root:root', mode: '600' },
  { path: '/etc/gatehouse/tls', owner: 'root:gatehouse-web', mode: '750' },
  { path: '/etc/gatehouse/tls/server.key', owner: 'root:gatehouse-web', mode: '640' },
  { path: '/etc/gatehouse/tls/company/server.key', owner: 'root:root', mode: '600', may: true },
  { path: '/etc/gatehouse/tls/acme/server.key', owner: 'root:root', mode: '600', may: true },
  { path: '/etc/gatehouse/acme', owner: 'root:root', mode: '700', may: true },
  { path: '/etc/ssh/ssh_host_ed25519_key', owner: 'root:root', mode: '600', may: true },
  { path: '/repos', owner: 'gatehouse:gatehouse', mode: '750' },
  { path: '/repos/settings.json', owner: 'gatehouse:gatehouse', mode: '600', may: true },
  { path: '/var/lib/gatehouse', owner: 'gatehouse:gatehouse', mode: '750' },
  { path: '/var/lib/gatehouse-postgres', owner: 'postgres:postgres', mode: '700' },
]

/** Names by number, of `/etc/passwd` or `/etc/group`. */
async function namesIn(ports: Ports, path: string): Promise<Map<number, string>> {
  const lines = ((await findText(ports, path)) ?? '').split('\n').map(line => line.split(':'))
  return new Map(lines.map(([name = '', , id]) => [Number(id), name]))
}

/** Whether secrets, and what belongs to one service, are for nobody else. */
export async function lookAtRights(ports: Ports): Promise<Finding[]> {
  const [users, groups] = await Promise.all([namesIn(ports, '/etc/passwd'), namesIn(ports, '/etc/group')])
  const found = RIGHTS.map(async ({ path, owner, mode, may }) => {
    let about
    try {
      about = await lstat(at(ports, path))
    } catch {
      return may === true
        ? []
        : [bad('Rights', `${path} is not there.`, 'systemctl restart gatehouse-first-boot makes what is missing.')]
    }
    const is = `${users.get(about.uid) ?? about.uid}:${groups.get(about.gid) ?? about.gid}`
    const isMode = (about.mode & 0o777).toString(8)
    if (is === owner && isMode === mode) return []
    const way = `chown ${owner} ${path} && chmod ${mode} ${path}`
    return [bad('Rights', `${path} is ${is} with mode ${isMode}, and should be ${owner} with ${mode}.`, way)]
  })
  return (await Promise.all(found)).flat()
}

/** Nobody signs in with a password: not as root, not as anybody. */
export async function lookAtPasswords(ports: Ports): Promise<Finding[]> {
  const text = await findText(ports, '/etc/shadow')
  if (text === undefined) return [unknown('Passwords', '/etc/shadow cannot be read.', 'Run this as root.')]
  const fields = text.split('\n').map(line => line.split(':'))
  const open = fields.filter(([name = '', hash = 'x']) => name !== '' && !/^[!*]/.test(hash))
  return open.map(([name = '', hash]) =>
    hash === ''
      ? bad('Passwords', `${name} signs in without a password.`, `passwd --lock ${name}`)
      : bad('Passwords', `${name} can sign in with a password.`, `passwd --lock ${name}, unless you set it yourself.`),
  )
}
