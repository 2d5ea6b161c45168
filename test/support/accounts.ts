import { randomBytes } from 'node:crypto'
import bcrypt from 'bcrypt'
import type { Role } from '../../server/core/access.ts'
import { bind, type BoundRoute } from '../../server/core/contract.ts'
import { createAccounts, type Accounts } from '../../server/features/auth/accounts.ts'
import { createApiTokens, type ApiTokens } from '../../server/features/auth/api-tokens.ts'
import { auth } from '../../server/features/auth/contract.ts'
import { authHandlers } from '../../server/features/auth/handlers.ts'
import { createTokens } from '../../server/features/auth/jwt.ts'
import { createLogin } from '../../server/features/auth/login.ts'
import { hashPassword } from '../../server/features/auth/passwords.ts'
import { setup } from '../../server/features/setup/contract.ts'
import { createFirstAdmin } from '../../server/features/setup/first-admin.ts'
import { setupHandlers } from '../../server/features/setup/handlers.ts'
import type { Authenticate } from '../../server/http/routes.ts'
import type { AuditEntry } from '../../server/record/audit.ts'
import { freshAddress, startApp, type Answer, type TestApp } from './app.ts'
import { createStock, type Stock } from './stock.ts'

export const SECRET = randomBytes(32).toString('hex')
export const PASSWORD = 'Correct-Horse-1'

/** The real accounts over a real database, behind real HTTP. */
export interface TestAccounts {
  readonly stock: Stock
  readonly app: TestApp
  readonly authenticate: Authenticate
  readonly accounts: Accounts
  readonly apiTokens: ApiTokens
  /** Makes an account without the cost of a strong hash. */
  user(username: string, role: Role, password?: string): Promise<void>
  /** A session token, as a login would give it. */
  session(username: string): Promise<string>
  login(username: string, password: string, headers?: Record<string, string>): Promise<Answer>
  /** Newest first. */
  audited(action: string): Promise<readonly AuditEntry[]>
  close(): Promise<void>
}

export async function startAccounts({ setupToken, routes = [] }: { readonly setupToken?: string; readonly routes?: readonly BoundRoute[] } = {}): Promise<TestAccounts> {
  const stock = await createStock()
  const { db, audit, outbox, clock } = stock
  const tokens = createTokens({ secret: SECRET, minutes: 60, clock })
  const login = createLogin({ db, audit, clock, tokens })
  const accounts = createAccounts({ db, audit, outbox })
  const apiTokens = createApiTokens({ db, audit, outbox, clock })
  const firstAdmin = createFirstAdmin({ db, audit, outbox, setupToken, hashPassword })
  const app = await startApp({
    authenticate: login.authenticate,
    routes: [...routes, ...bind(auth, authHandlers, { db, clock, login, accounts, apiTokens, jwtMinutes: 60 }), ...bind(setup, setupHandlers, { firstAdmin })],
  })
  return {
    stock, app, accounts, apiTokens, authenticate: login.authenticate,
    user: async (username, role, password = PASSWORD) => {
      await db.query('insert into account (username, password_hash, role) values ($1, $2, $3)', [username, await bcrypt.hash(password, 4), role])
    },
    session: async username => {
      const row = await db.first<{ role: Role; credentials_at: Date }>('select role, credentials_at from account where username = $1', [username])
      if (row === undefined) throw new Error(`there is no ${username}`)
      return tokens.issue({ username, role: row.role, credentialsAt: row.credentials_at })
    },
    login: (username, password, headers = freshAddress()) => app.ask('POST', '/api/v1/auth/token', { body: { username, password }, headers }),
    audited: async action => (await audit.search({ page: 1, perPage: 100, action })).items,
    close: async () => {
      await app.close()
      await stock.close()
    },
  }
}

