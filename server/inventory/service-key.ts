import type { Db } from '../db/db.ts'
import type { Clock } from '../lib/clock.ts'
import type { SecretBox } from '../lib/secret-box.ts'
import { readHostKey } from './ssh-session.ts'

/** The key pair by which this service logs in at machines. */
export interface ServiceKey {
  /** A line of `authorized_keys`. */
  readonly publicKey: string
  readonly fingerprint: string
  readonly privateKey: string
}

interface Row {
  readonly public_key: string
  readonly private_key: string
}

/**
 * The key pair, made when it is asked for first; of two processes that make one at once, one is kept. The private half
 * is sealed in the database. @throws Error when SETTINGS_ENCRYPTION_KEY is another one
 */
export async function serviceKey({
  db,
  box,
  clock,
}: {
  readonly db: Db
  readonly box: SecretBox
  readonly clock: Clock
}): Promise<ServiceKey> {
  const read = (): Promise<Row | undefined> => db.first<Row>('select public_key, private_key from inventory_key')
  if ((await read()) === undefined) {
    const { default: ssh2 } = await import('ssh2')
    const made = ssh2.utils.generateKeyPairSync('ed25519', { comment: 'gatehouse' })
    await db.query(
      'insert into inventory_key (public_key, private_key, created_at) values ($1, $2, $3) on conflict (one) do nothing',
      [made.public, box.seal(made.private), clock.now()],
    )
  }
  const row = await read()
  if (row === undefined) throw new Error('the key for machines was not kept')
  const [, body = ''] = row.public_key.split(' ')
  return {
    publicKey: row.public_key,
    fingerprint: readHostKey(Buffer.from(body, 'base64')).fingerprint,
    privateKey: box.open(row.private_key).toString('utf8'),
  }
}
