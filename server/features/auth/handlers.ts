import { ROLE_CARDS, type Principal } from '../../core/access.ts'
import type { Handlers, RawRequest } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import { roleOf, type Accounts, type By } from './accounts.ts'
import type { ApiTokens } from './api-tokens.ts'
import type { auth } from './contract.ts'
import type { Login } from './login.ts'
import { findAccount, listAccounts, type Account, type ApiToken } from './store.ts'

export interface AuthDeps {
  readonly db: Db
  readonly login: Login
  readonly accounts: Accounts
  readonly apiTokens: ApiTokens
  readonly clock: Clock
  /** Lifetime of an access token. */
  readonly jwtMinutes: number
}

const by = ({ who, raw }: { readonly who: Principal; readonly raw: RawRequest }): By => ({ who, ip: raw.clientIp })

function userView(account: Account) {
  const { username, role, full_name, email, active, created_at, last_login, locked_until } = account
  return {
    username, role, roles: [role], full_name, email, active, mfa_enabled: false,
    created_at: created_at.toISOString(), last_login: last_login?.toISOString() ?? null, locked_until: locked_until?.toISOString() ?? null,
  }
}

function tokenView({ id, name, role, created_by, created_at, expires_at, last_used_at }: ApiToken, now: Date) {
  return {
    id, name, role, roles: [role], created_by, created_at: created_at.toISOString(), expires_at: expires_at?.toISOString() ?? null,
    last_used_at: last_used_at?.toISOString() ?? null, expired: expires_at !== null && expires_at <= now,
  }
}

async function ownView({ db, clock }: AuthDeps, who: Principal) {
  if (who.kind === 'user') return userView(await findAccount(db, who.name) ?? fail('bad_credential', {}))
  const now = clock.now().toISOString()
  return { username: who.name, role: who.role, roles: [who.role], full_name: null, email: null, active: true, mfa_enabled: false, created_at: now, last_login: null, locked_until: null }
}

export const authHandlers: Handlers<typeof auth, AuthDeps> = {
  'POST /auth/token': async ({ login, jwtMinutes }, { body: { username, password }, raw }) =>
    ({ access_token: await login.login({ username, password, ip: raw.clientIp }), token_type: 'bearer', expires_in: jwtMinutes * 60 }),
  'GET /auth/me': (deps, { who }) => ownView(deps, who),
  'POST /auth/change-password': async ({ login }, { body, who, raw }) => {
    await login.changePassword(who, { current: body.current_password, next: body.new_password, ip: raw.clientIp })
    return { message: 'The password is changed. Other sessions have ended.' }
  },
  'GET /auth/roles': () => ({ roles: ROLE_CARDS }),
  'GET /auth/users': async ({ db }) => ({ users: (await listAccounts(db)).map(userView) }),
  'POST /auth/users': async ({ accounts }, input) => {
    const { username, password, full_name, email } = input.body
    return userView(await accounts.create({ username, password, role: roleOf(input.body), fullName: full_name ?? undefined, email: email ?? undefined }, by(input)))
  },
  'PATCH /auth/users/{username}': async ({ accounts }, input) => {
    const { role, roles, full_name, email, active } = input.body
    return userView(await accounts.change(input.params.username, { role: role ?? roles?.[0], fullName: full_name, email, active }, by(input)))
  },
  'DELETE /auth/users/{username}': async ({ accounts }, input) => {
    await accounts.remove(input.params.username, by(input))
    return { message: `The user ${input.params.username} is deleted.` }
  },
  'POST /auth/users/{username}/reset-password': async ({ accounts }, input) => {
    await accounts.resetPassword(input.params.username, input.body.new_password, by(input))
    return { message: `The password of ${input.params.username} is set. Its sessions have ended.` }
  },
  'GET /auth/api-tokens': async ({ apiTokens, clock }) => ({ tokens: (await apiTokens.list()).map(token => tokenView(token, clock.now())) }),
  'POST /auth/api-tokens': async ({ apiTokens }, input) => {
    const { token, row } = await apiTokens.create({ name: input.body.name, role: roleOf(input.body), expiresDays: input.body.expires_days ?? undefined }, by(input))
    return {
      id: row.id, name: row.name, role: row.role, roles: [row.role], token, prefix: 'svc_', expires_at: row.expires_at?.toISOString() ?? null,
      message: 'Copy the token now. It is stored as a hash and cannot be shown again.',
    }
  },
  'DELETE /auth/api-tokens/{token_id}': async ({ apiTokens }, input) => {
    const { name } = await apiTokens.revoke(input.params.token_id, by(input))
    return { message: `The API token ${name} is revoked.` }
  },
}
