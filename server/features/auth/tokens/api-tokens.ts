import { randomBytes } from 'node:crypto'
import { covers, type Role, type Scope } from '../../../core/access.ts'
import { fail } from '../../../core/errors.ts'
import type { AuditFacts } from '../../../record/audit-facts.ts'
import type { Repositories } from '../../../core/repository.ts'
import type { AccountDeps, By } from '../accounts/accounts.ts'
import { hashToken } from '../accounts/passwords.ts'
import { creatorOfToken, deleteToken, insertToken, listTokens, type ApiToken } from './store.ts'

export const TOKEN_PREFIX = 'svc_'

export interface NewToken {
  readonly name: string
  readonly role: Role
  readonly expiresDays?: number | undefined
  readonly scope?:
    { readonly distributions?: readonly string[] | undefined; readonly uploadOnly?: boolean | undefined } | undefined
  /** In place of the limit in the settings. */
  readonly uploadsPerMinute?: number | undefined
}

export interface ApiTokens {
  list(): Promise<ApiToken[]>
  /**
   * @returns the token itself, this once; 256 random bits behind its prefix
   * @throws role_above_own, unknown_distribution, useless_scope
   */
  create(wish: NewToken, by: By): Promise<{ readonly token: string; readonly row: ApiToken }>
  /** @throws token_not_found */
  revoke(id: string, by: By): Promise<ApiToken>
}

const DAY_MS = 86_400_000
const SOON_MS = 14 * DAY_MS
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** What a token's expiry says today: `soon` is within 14 days, in time to make a new one. */
export function expiryOf(
  { expires_at: end }: Pick<ApiToken, 'expires_at'>,
  now: Date,
): 'never' | 'later' | 'soon' | 'expired' {
  if (end === null) return 'never'
  if (end <= now) return 'expired'
  return end.getTime() - now.getTime() <= SOON_MS ? 'soon' : 'later'
}

/** The token's limits, or undefined where it has none. */
export function scopeOf({
  distributions,
  upload_only: uploadOnly,
}: Pick<ApiToken, 'distributions' | 'upload_only'>): Scope | undefined {
  return distributions === null && !uploadOnly
    ? undefined
    : { uploadOnly, ...(distributions === null ? {} : { distributions }) }
}

const factsOf = ({ name, role, expiresDays, scope, uploadsPerMinute }: NewToken): AuditFacts => ({
  kind: 'token.created',
  name,
  role,
  upload_only: scope?.uploadOnly === true,
  ...(expiresDays === undefined ? {} : { days: expiresDays }),
  ...(uploadsPerMinute === undefined ? {} : { uploads_per_minute: uploadsPerMinute }),
  ...(scope?.distributions === undefined ? {} : { distributions: scope.distributions }),
})

/** Long-lived credentials for machines. */
export function createApiTokens({
  db,
  audit,
  outbox,
  clock,
  repositories,
}: AccountDeps & { readonly repositories: Pick<Repositories, 'get'> }): ApiTokens {
  return {
    list: () => listTokens(db),
    async create(wish, { who, ip }) {
      const { name, role, expiresDays, scope, uploadsPerMinute } = wish
      if (!covers(who.role, role)) fail('role_above_own', { own: who.role, role })
      if (scope?.uploadOnly === true && !covers(role, 'uploader'))
        fail('useless_scope', { role, field: 'scopes.upload_only' })
      const distributions = scope?.distributions?.map(codename => repositories.get(codename).codename)
      const token = `${TOKEN_PREFIX}${randomBytes(32).toString('base64url')}`
      const expiresAt = expiresDays === undefined ? undefined : new Date(clock.now().getTime() + expiresDays * DAY_MS)
      const row = await db.tx(async tx => {
        const creator =
          who.kind === 'user'
            ? who.name
            : UUID.test(who.credential)
              ? await creatorOfToken(tx, who.credential)
              : undefined
        const made = await insertToken(tx, {
          name,
          role,
          hash: hashToken(token),
          by: who.name,
          creator,
          expiresAt,
          uploadOnly: scope?.uploadOnly ?? false,
          uploadsPerMinute,
          distributions: distributions === undefined ? undefined : [...new Set(distributions)],
        })
        await audit.owe(tx, { action: 'TOKEN_CREATE', result: 'SUCCESS', user: who.name, facts: factsOf(wish), ip })
        return made
      })
      outbox.nudge()
      return { token, row }
    },
    async revoke(id, { who, ip }) {
      const row = await db.tx(async tx => {
        const gone = UUID.test(id) ? await deleteToken(tx, id) : undefined
        if (gone === undefined) return fail('token_not_found', { token_id: id.slice(0, 80) })
        await audit.owe(tx, {
          action: 'TOKEN_REVOKE',
          result: 'SUCCESS',
          user: who.name,
          facts: { kind: 'token.revoked', name: gone.name, role: gone.role },
          ip,
        })
        return gone
      })
      outbox.nudge()
      return row
    },
  }
}
