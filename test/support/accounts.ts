import { randomBytes } from 'node:crypto'
import bcrypt from 'bcrypt'
import type { Role } from '../../server/core/access.ts'
import type { BoundRoute } from '../../server/core/contract.ts'
import { handleDebts } from '../../server/db/outbox.ts'
import type { Accounts } from '../../server/features/auth/accounts/accounts.ts'
import type { ApiTokens } from '../../server/features/auth/tokens/api-tokens.ts'
import { composeAuth, type Auth } from '../../server/features/auth/compose.ts'
import type { Directory } from '../../server/directory/directory.ts'
import { findAccount } from '../../server/features/auth/accounts/store.ts'
import { hashPassword } from '../../server/features/auth/accounts/passwords.ts'
import { composeSetup } from '../../server/features/setup/compose.ts'
import type { Authenticate } from '../../server/http/routes.ts'
import { createSecretBox } from '../../server/lib/secret-box.ts'
import { createMailQueue, type QueuedMail } from '../../server/outbound/mail-queue.ts'
import type { AuditEntry } from '../../server/record/audit.ts'
import { addressWith } from './app-address.ts'
import { createSettings, type Settings } from '../../server/settings/store.ts'
import { freshAddress, startApp, type Answer, type TestApp } from './app.ts'
import { createStock, type Stock } from './test-catalog.ts'
import { ALL_SEEING } from '../../server/core/viewer.ts'
import { repositories } from './repositories.ts'

export const SECRET = randomBytes(32).toString('hex')
export const PASSWORD = 'Correct-Horse-1'

/** The real accounts over a real database, behind real HTTP. */
export interface TestAccounts {
  readonly stock: Stock
  readonly app: TestApp
  readonly auth: Auth
  readonly settings: Settings
  /** The mails that were sent. */
  readonly mailed: QueuedMail[]
  /** How the mail server is today; it refuses while `isDown`. */
  readonly post: { isDown: boolean }
  /** The warnings that were logged. */
  readonly warned: string[]
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
  /** The same service as after a restart: nothing in memory, the same database and files. */
  restarted(): Promise<TestAccounts>
  close(): Promise<void>
}

export interface AccountOptions {
  readonly setupToken?: string
  /** Other routes beside, or before, those of accounts. */
  readonly routes?: readonly BoundRoute[]
  readonly directory?: Directory
  /** The real one instead of a list. */
  readonly mailer?: (settings: Settings) => { send(mail: QueuedMail): Promise<void> }
  /** An existing one, which is then kept at the end. */
  readonly stock?: Stock
}

export async function startAccounts(options: AccountOptions = {}): Promise<TestAccounts> {
  const { setupToken, routes = [], directory } = options
  const stock = options.stock ?? (await createStock())
  const { db, audit, outbox, clock } = stock
  const box = createSecretBox(SECRET)
  const settings = await createSettings({ layout: stock.layout, box, production: false, isEnterprise: () => true })
  const mailed: QueuedMail[] = []
  const post = { isDown: false }
  const warned: string[] = []
  const log = {
    warn: (_: unknown, message?: string) => {
      warned.push(message ?? '')
    },
  } as never
  const send = async (mail: QueuedMail): Promise<void> => {
    if (post.isDown) throw new Error('421 try later')
    mailed.push(mail)
  }
  const queue = createMailQueue({ db, outbox, clock, box, log, mailer: options.mailer?.(settings) ?? { send } })
  const auth = composeAuth({
    db,
    audit,
    outbox,
    repositories,
    clock,
    box,
    settings,
    address: addressWith(settings),
    log,
    jwtSecret: SECRET,
    jwtMinutes: 60,
    directory,
    mail: { isReady: () => settings.now().email.enabled, owe: queue.owe },
  })
  handleDebts(outbox, { mail: { deliver: queue.deliver }, ...auth.debts })
  const { accounts, apiTokens, authenticate } = auth
  const setup = composeSetup({
    db,
    audit,
    outbox,
    clock,
    settings,
    setupToken,
    hashPassword,
    address: addressWith(settings),
    disk: async () => ({ ok: true, free_gb: 12.5 }),
    antivirus: { status: async () => ({ id: 'clamav', ok: false, error: 'Nobody answers.' }) },
    vulnerability: [],
    secrets: stock.layout.secrets,
    fetch: () => Promise.reject(new Error('nothing is fetched here')),
  })
  const app = await startApp({ authenticate, routes: [...routes, ...auth.routes, ...setup.routes] })
  return {
    stock,
    app,
    auth,
    settings,
    mailed,
    post,
    warned,
    accounts,
    apiTokens,
    authenticate,
    user: async (username, role, password = PASSWORD) => {
      await db.query('insert into account (username, password_hash, role) values ($1, $2, $3)', [
        username,
        await bcrypt.hash(password, 4),
        role,
      ])
    },
    session: async username => {
      const account = await findAccount(db, username)
      if (account === undefined) throw new Error(`there is no ${username}`)
      return (await auth.sessions.open(db, account, { how: 'single_sign_on', ip: '192.0.2.1', agent: 'test' })).token
    },
    login: (username, password, headers = freshAddress()) =>
      app.ask('POST', '/api/v1/auth/token', { body: { username, password }, headers }),
    audited: async action => (await audit.search(ALL_SEEING, { page: 1, perPage: 100, action })).items,
    restarted: () => startAccounts({ ...options, stock }),
    close: async () => {
      await app.close()
      if (options.stock === undefined) await stock.close()
    },
  }
}
