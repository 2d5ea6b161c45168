import { randomBytes } from 'node:crypto'
import { runAsDaemon } from '../as-daemon.ts'
import { findText, must, Refused, writeText, type Ports, type RunOptions } from '../ports.ts'

const SECRETS = '/etc/gatehouse/secrets'
const STATUS = 'http://127.0.0.1:8000/api/v1/setup/status'
// as first-boot makes one: no letter that is mistaken for another
const LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** Of an account that may be helped. */
export interface Admin {
  readonly username: string
  readonly origin: string
  readonly active: boolean
  readonly is_locked: boolean
  readonly mfa_enabled: boolean
}

const newToken = (): string =>
  (
    [...randomBytes(20)]
      .map(byte => LETTERS.charAt(byte % 32))
      .join('')
      .match(/.{5}/g) ?? []
  ).join('-')

/** Another setup token; the old one ends. @throws Refused after the first admin */
export async function newSetupToken(ports: Ports): Promise<string> {
  const { out } = await ports.run('curl', ['-s', '--max-time', '5', STATUS])
  if (out.includes('"needs_setup":false'))
    throw new Refused(
      'admin_exists',
      'There is an admin already, so nobody needs a setup token. Reset the password of an admin instead.',
    )
  if (!out.includes('"needs_setup":true'))
    throw new Refused(
      'silent',
      'The service does not answer, so nobody knows whether there is an admin already. Restart it, or wait until it runs.',
    )
  const text = (await findText(ports, SECRETS)) ?? ''
  const token = newToken()
  await writeText(ports, SECRETS, `${text.replace(/^SETUP_TOKEN=.*\n?/m, '')}SETUP_TOKEN=${token}\n`, 0o600)
  await must(ports, 'systemctl', ['restart', 'gatehouse.service'], { timeoutMs: 300_000 })
  ports.log('screen: a new setup token was made')
  return token
}

async function admin(ports: Ports, args: readonly string[], options?: RunOptions): Promise<string> {
  await must(ports, 'systemctl', ['start', 'gatehouse-postgres.service'], { timeoutMs: 120_000 })
  const { code, out, err } = await runAsDaemon(ports, 'admin', args, { timeoutMs: 120_000, ...options })
  if (code !== 0)
    throw new Refused(
      'admin_failed',
      (err.trim() || out.trim() || 'The program that helps admins ended without a word.').slice(-500),
    )
  return out.trim()
}

export async function listAdmins(ports: Ports): Promise<Admin[]> {
  return JSON.parse(await admin(ports, ['list', '--json'])) as Admin[]
}

/** @returns the new password */
export async function resetPassword(ports: Ports, username: string): Promise<string> {
  const password = await admin(ports, ['password', username])
  ports.log(`screen: the password of ${username} was reset`)
  return password
}

export async function resetFactor(ports: Ports, username: string): Promise<string> {
  const said = await admin(ports, ['mfa', username])
  ports.log(`screen: the second factor of ${username} was removed`)
  return said
}
