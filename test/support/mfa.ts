import { generateSync } from 'otplib/functional'
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import { PASSWORD, startAccounts, type TestAccounts } from './accounts.ts'
import { freshAddress, type Answer } from './app.ts'

const START = Date.parse('2026-03-01T10:00:00Z')

/**
 * Accounts with a clock that stands, and what is asked of a second factor. New for each test, with the admin `root`
 * logged in.
 */
export interface Mfa {
  readonly accounts: TestAccounts
  /** The session of `root`. */
  readonly admin: string
  /** Since the start, where the clock stands. */
  readonly seconds: number
  /** Sets the clock to so many seconds after the start, which is the first second of a step. */
  at(second: number): void
  ask(method: string, path: string, token?: string, body?: Record<string, unknown>): Promise<Answer>
  /** The code of the step that is `offset` steps from now. */
  code(secret: string, offset?: number): string
  /** Six digits that are no code of this secret now. */
  wrong(secret: string): string
  authenticate(token: unknown, proof: Record<string, unknown>): Promise<Answer>
  /** Logs in with the password, up to the second factor. */
  challenge(username: string): Promise<string>
  /** The status of a call with this access token. */
  works(token: unknown): Promise<number>
  /** Switches the second factor on; a minute later so that no code of the set-up can be in the way. */
  enable(username: string): Promise<{ readonly secret: string; readonly codes: string[]; readonly session: string }>
}

/** Status and code of a refusal. */
export const said = (answer: Answer): [number, unknown] => [answer.status, answer.json().code]

/** Sets accounts up for the tests of a file. */
export function openMfa(): Mfa {
  let accounts: TestAccounts
  let admin: string
  let seconds = 0
  function at(second: number): void {
    seconds = second
    accounts.stock.clock.set(new Date(START + second * 1000).toISOString())
  }
  const ask: Mfa['ask'] = (method, path, token, body) =>
    accounts.app.ask(method, `/api/v1${path}`, {
      token,
      headers: freshAddress(),
      ...(body === undefined ? {} : { body }),
    })
  const code = (secret: string, offset = 0): string =>
    generateSync({ secret, epoch: START / 1000 + seconds + offset * 30 })

  beforeAll(async () => {
    accounts = await startAccounts()
  })
  afterAll(() => accounts.close())
  beforeEach(async () => {
    await accounts.stock.clear()
    at(0)
    await accounts.settings.patch({ mfa_policy: { enforce_admin_mfa: false, grace_period_days: 7 } })
    await accounts.user('root', 'admin')
    admin = await accounts.session('root')
  })

  return {
    get accounts() {
      return accounts
    },
    get admin() {
      return admin
    },
    get seconds() {
      return seconds
    },
    at,
    ask,
    code,
    wrong(secret) {
      const right = new Set([-2, -1, 0, 1, 2].map(offset => code(secret, offset)))
      return ['000000', '111111', '222222', '333333', '444444', '555555'].find(guess => !right.has(guess)) ?? ''
    },
    authenticate: (token, proof) => ask('POST', '/auth/mfa/authenticate', undefined, { mfa_token: token, ...proof }),
    async challenge(username) {
      const answer = await accounts.login(username, PASSWORD)
      expect(answer.json()).toEqual({ mfa_required: true, mfa_token: expect.any(String) as string, expires_in: 300 })
      return String(answer.json().mfa_token)
    },
    works: async token => (await ask('GET', '/auth/me', String(token))).status,
    async enable(username) {
      const session = await accounts.session(username)
      const secret = String((await ask('POST', '/auth/mfa/setup', session)).json().secret)
      const confirmed = await ask('POST', '/auth/mfa/confirm', session, { totp_code: code(secret) })
      expect(confirmed.status).toBe(200)
      at(seconds + 90)
      return { secret, codes: confirmed.json().recovery_codes as string[], session }
    },
  }
}
