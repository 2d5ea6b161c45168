import { generateSync } from 'otplib/functional'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import { ADMIN, startDaemon, type Daemon } from '../../support/daemon.ts'
import { PASSWORD, expectFine, givePassword, signInAt, visits } from './visits.ts'

/** The code of this step, or of the next one: both are taken, and each only once. */
export const code = (secret: string, offset: 0 | 1 = 0): string =>
  generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + offset * 30 })

/** Six digits that are not the code of any step near now. */
export const wrongCode = (secret: string): string =>
  ['000000', '111111', '222222', '333333', '444444'].find(guess =>
    [-2, -1, 0, 1, 2].every(n => generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + n * 30 }) !== guess),
  ) ?? ''

/** What a test stands on: its page, the daemon, and the admin's token. */
export interface Stage {
  readonly page: Page
  readonly daemon: Daemon
  readonly admin: string
}

/** What suites about people do over and over. */
export interface People {
  readonly daemon: Daemon
  readonly browser: Browser
  patch(body: Record<string, unknown>): Promise<void>
  /** @returns an access token of the new user */
  addUser(username: string, role?: string, more?: Record<string, unknown>): Promise<string>
  session(username: string): Promise<string>
  /** A user with a second factor, whose set-up used the code of this step. */
  guarded(username: string, role?: string): Promise<{ readonly secret: string; readonly codes: string[] }>
  heading(name: string | RegExp): ReturnType<Page['getByRole']>
  /** Opens an address and gives the password, whatever comes then. */
  password(username: string, at?: string, text?: string): Promise<void>
  signIn(username: string, at?: string, text?: string): Promise<void>
  asAdmin(at: string): Promise<void>
  isFine(): Promise<void>
}

/**
 * A daemon with an admin for this suite, and for each test a page of its own; call it inside `describe`.
 * @param take  gets the stage when a test begins
 */
export function people(take: (stage: Stage) => void, env: Readonly<Record<string, string>> = {}): People {
  let daemon: Daemon
  let admin: string
  let page: Page
  beforeAll(async () => {
    daemon = await startDaemon({ env })
    admin = await daemon.setupAdmin()
  })
  afterAll(async () => {
    await daemon?.close()
  })
  const visit = visits(
    () => daemon.url,
    opened => {
      page = opened
      take({ page, daemon, admin })
    },
  )

  const session = async (username: string): Promise<string> =>
    (await daemon.call<{ access_token: string }>('POST', '/auth/token', { body: { username, password: PASSWORD } }))
      .body.access_token
  async function addUser(username: string, role = 'maintainer', more: Record<string, unknown> = {}): Promise<string> {
    expect(
      (
        await daemon.call('POST', '/auth/users', {
          token: admin,
          body: { username, password: PASSWORD, role, ...more },
        })
      ).status,
    ).toBe(201)
    return session(username)
  }
  const signIn = (username: string, at = '#/dashboard', text?: string): Promise<void> =>
    signInAt(page, `${daemon.url}/${at}`, username, text)
  return {
    get daemon() {
      return daemon
    },
    get browser() {
      return visit.browser
    },
    patch: async body => {
      expect((await daemon.call('PATCH', '/settings/', { token: admin, body })).status).toBe(200)
    },
    addUser,
    session,
    signIn,
    guarded: async (username, role) => {
      const token = await addUser(username, role)
      const {
        body: { secret },
      } = await daemon.call<{ secret: string }>('POST', '/auth/mfa/setup', { token })
      const { body } = await daemon.call<{ recovery_codes: string[] }>('POST', '/auth/mfa/confirm', {
        token,
        body: { totp_code: code(secret) },
      })
      return { secret, codes: body.recovery_codes }
    },
    heading: name => page.getByRole('heading', { level: 1, name }),
    password: async (username, at = '#/dashboard', text) => {
      await page.goto(`${daemon.url}/${at}`)
      await givePassword(page, username, text)
    },
    asAdmin: at => signIn(ADMIN.username, at),
    isFine: () => expectFine(page),
  }
}
