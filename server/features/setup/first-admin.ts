import { fail } from '../../core/errors.ts'
import type { Db, Queryable } from '../../db/db.ts'
import type { Outbox } from '../../db/outbox.ts'
import type { Audit } from '../../record/audit.ts'
import { isSameSecret } from '../../lib/same-secret.ts'

export interface FirstAdminDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'owe'>
  readonly outbox: Pick<Outbox, 'nudge'>
  readonly setupToken: string | undefined
  /** Checks the policy and hashes. @throws weak_password */
  readonly hashPassword: (password: string, field: string) => Promise<string>
}

export interface FirstAdmin {
  /** Whether the setup is closed: there are users already. */
  exists(): Promise<boolean>
  readonly tokenRequired: boolean
  /** @throws bad_setup_token, admin_exists, weak_password. Of many at once, one succeeds. */
  create(given: {
    readonly username: string
    readonly password: string
    readonly token: string | undefined
    readonly ip: string
  }): Promise<void>
  /** Makes the admin that the environment names, when there are no users. */
  provision(admin: { readonly username: string; readonly passwordHash: string }): Promise<boolean>
}

// any number that nothing else takes: first admins are made one at a time
const SETUP_LOCK = 7_201_843

/**
 * Whether this installation has users. A directory may have taken the role from the last admin; the setup must not open
 * again for any visitor then.
 */
async function isInUse(db: Queryable): Promise<boolean> {
  return (await db.first('select 1 from account limit 1')) !== undefined
}

async function adminExists(db: Queryable): Promise<boolean> {
  return (await db.first(`select 1 from account where role = 'admin' limit 1`)) !== undefined
}

interface NewAdmin {
  readonly username: string
  readonly hash: string
  readonly by: 'setup' | 'environment'
  readonly ip?: string
  readonly isClosed: (db: Queryable) => Promise<boolean>
}

/** Makes the first admin, from the environment or from the wizard, once. */
export function createFirstAdmin({ db, audit, outbox, setupToken, hashPassword }: FirstAdminDeps): FirstAdmin {
  async function insert({ username, hash, by, ip, isClosed }: NewAdmin): Promise<boolean> {
    const made = await db.tx(async tx => {
      await tx.query('select pg_advisory_xact_lock($1)', [SETUP_LOCK])
      if (await isClosed(tx)) return false
      await tx.query(
        `insert into account (username, password_hash, role) values ($1, $2, 'admin')
        on conflict (username) do update set password_hash = excluded.password_hash, role = 'admin', active = true, origin = 'local',
          credentials_at = clock_timestamp(), kept_session = null, failed_logins = 0, locked_until = null`,
        [username, hash],
      )
      await audit.owe(tx, {
        action: 'USER_CREATE',
        result: 'SUCCESS',
        user: username,
        facts: { kind: 'account.created', username, role: 'admin', by },
        ...(ip === undefined ? {} : { ip }),
      })
      return true
    })
    outbox.nudge()
    return made
  }

  return {
    exists: () => isInUse(db),
    tokenRequired: setupToken !== undefined,
    async create({ username, password, token, ip }) {
      if (await isInUse(db)) fail('admin_exists', {})
      if (setupToken !== undefined && !isSameSecret(token ?? '', setupToken)) fail('bad_setup_token', {})
      const hash = await hashPassword(password, 'admin_password')
      if (!(await insert({ username, hash, by: 'setup', ip, isClosed: isInUse }))) fail('admin_exists', {})
    },
    provision: ({ username, passwordHash }) =>
      insert({
        username,
        hash: passwordHash,
        by: 'environment',
        isClosed: adminExists,
      }),
  }
}
