import { randomBytes } from 'node:crypto'
import type { Role } from '../../core/access.ts'
import { fail } from '../../core/errors.ts'
import type { AccountDeps, By } from './accounts.ts'
import { TOKEN_PREFIX } from './login.ts'
import { hashToken } from './passwords.ts'
import { deleteToken, insertToken, listTokens, type ApiToken } from './store.ts'

export interface ApiTokens {
  list(): Promise<ApiToken[]>
  /** @returns the token itself, this once; 256 random bits behind its prefix */
  create(wish: { readonly name: string; readonly role: Role; readonly expiresDays?: number | undefined }, by: By): Promise<{ readonly token: string; readonly row: ApiToken }>
  /** @throws token_not_found */
  revoke(id: string, by: By): Promise<ApiToken>
}

const DAY_MS = 86_400_000
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Long-lived credentials for machines. */
export function createApiTokens({ db, audit, outbox, clock }: AccountDeps): ApiTokens {
  return {
    list: () => listTokens(db),
    async create({ name, role, expiresDays }, { who, ip }) {
      const token = `${TOKEN_PREFIX}${randomBytes(32).toString('base64url')}`
      const expiresAt = expiresDays === undefined ? undefined : new Date(clock.now().getTime() + expiresDays * DAY_MS)
      const row = await db.tx(async tx => {
        const made = await insertToken(tx, { name, role, hash: hashToken(token), by: who.name, expiresAt })
        await audit.owe(tx, { action: 'TOKEN_CREATE', result: 'SUCCESS', user: who.name, detail: `${name}, ${role}, ${expiresDays === undefined ? 'no expiry' : `${expiresDays} days`}.`, ip })
        return made
      })
      outbox.nudge()
      return { token, row }
    },
    async revoke(id, { who, ip }) {
      const row = await db.tx(async tx => {
        const gone = UUID.test(id) ? await deleteToken(tx, id) : undefined
        if (gone === undefined) return fail('token_not_found', { token_id: id.slice(0, 80) })
        await audit.owe(tx, { action: 'TOKEN_REVOKE', result: 'SUCCESS', user: who.name, detail: `${gone.name}, ${gone.role}.`, ip })
        return gone
      })
      outbox.nudge()
      return row
    },
  }
}
