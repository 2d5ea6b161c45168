import { createHash, timingSafeEqual } from 'node:crypto'
import { fail } from '../../core/errors.ts'
import type { Db, Queryable } from '../../db/db.ts'
import type { Outbox } from '../../db/outbox.ts'
import type { Audit } from '../../record/audit.ts'

export interface FirstAdminDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'owe'>
  readonly outbox: Pick<Outbox, 'nudge'>
  readonly setupToken: string | undefined
  /** Checks the policy and hashes. @throws weak_password */
  readonly hashPassword: (password: string, field: string) => Promise<string>
}

export interface FirstAdmin {
  exists(): Promise<boolean>
  readonly tokenRequired: boolean
  /** @throws bad_setup_token, admin_exists, weak_password. Of many at once, one succeeds. */
  create(given: { readonly username: string; readonly password: string; readonly token: string | undefined; readonly ip: string }): Promise<void>
  /** The admin that the environment names, when there is none yet. */
  provision(admin: { readonly username: string; readonly passwordHash: string }): Promise<boolean>
}

// any number will do, as long as nothing else takes it: first admins are made one at a time
const SETUP_LOCK = 7_201_843

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

async function adminExists(db: Queryable): Promise<boolean> {
  return await db.first(`select 1 from account where role = 'admin' limit 1`) !== undefined
}

export function createFirstAdmin({ db, audit, outbox, setupToken, hashPassword }: FirstAdminDeps): FirstAdmin {
  async function insert({ username, hash, detail, ip }: { readonly username: string; readonly hash: string; readonly detail: string; readonly ip?: string }): Promise<boolean> {
    const made = await db.tx(async tx => {
      await tx.query('select pg_advisory_xact_lock($1)', [SETUP_LOCK])
      if (await adminExists(tx)) return false
      await tx.query(`insert into account (username, password_hash, role) values ($1, $2, 'admin')
        on conflict (username) do update set password_hash = excluded.password_hash, role = 'admin', active = true`, [username, hash])
      await audit.owe(tx, { action: 'USER_CREATE', result: 'SUCCESS', user: username, detail, ...(ip === undefined ? {} : { ip }) })
      return true
    })
    outbox.nudge()
    return made
  }

  return {
    exists: () => adminExists(db),
    tokenRequired: setupToken !== undefined,
    async create({ username, password, token, ip }) {
      if (await adminExists(db)) fail('admin_exists', {})
      if (setupToken !== undefined && !timingSafeEqual(digest(token ?? ''), digest(setupToken))) fail('bad_setup_token', {})
      const hash = await hashPassword(password, 'admin_password')
      if (!await insert({ username, hash, detail: `${username}, the first admin.`, ip })) fail('admin_exists', {})
    },
    provision: ({ username, passwordHash }) => insert({ username, hash: passwordHash, detail: `${username}, the first admin, from the environment.` }),
  }
}
