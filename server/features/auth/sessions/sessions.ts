import type { LoginWay } from '../../../core/login-way.ts'
import { randomUUID } from 'node:crypto'
import { fail } from '../../../core/errors.ts'
import type { From } from '../../../core/request-origin.ts'
import type { Db, Queryable } from '../../../db/db.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Tokens } from './jwt.ts'
import { forgetEnded, type Revocations } from './revocations.ts'
import type { Account } from '../accounts/store.ts'

/** One login, as its owner sees it. */
export interface Session {
  readonly id: string
  readonly opened_at: Date
  /** To the minute. */
  readonly seen_at: Date
  readonly expires_at: Date
  /** How it was opened. */
  readonly how: LoginWay
  readonly ip: string
  readonly agent: string
}

export interface AccessToken {
  readonly token: string
  readonly expiresIn: number
}

export interface Sessions {
  open(tx: Queryable, account: Account, from: From & { readonly how: LoginWay }): Promise<AccessToken>
  /**
   * A new token for the same session, with the current role, until 12 hours after the login at most. @throws
   * bad_credential
   */
  refresh(account: Account, id: string): Promise<AccessToken>
  /** The active ones, newest first. */
  list(username: string): Promise<Session[]>
  /** @returns how many of these were alive */
  end(username: string, ids: readonly string[]): Promise<number>
  /** Ends the session whose token was just shown, also one that no list knows. */
  endAnyhow(id: string): Promise<void>
  isEnded(id: string): Promise<boolean>
  /** Notes that it was used, at most once a minute. */
  touch(id: string): Promise<void>
}

export interface SessionDeps {
  readonly db: Db
  readonly tokens: Tokens
  readonly revocations: Revocations
  readonly clock: Clock
  /** Lifetime of an access token. */
  readonly minutes: number
}

const MINUTE_MS = 60_000
const LONGEST_MS = 12 * 60 * MINUTE_MS
const REMEMBERED = 10_000

/**
 * Logins: opened, listed, prolonged and ended. What ends all of them (a password, a deactivation) is on the account
 * instead.
 */
export function createSessions({ db, tokens, revocations, clock, minutes }: SessionDeps): Sessions {
  const longestMs = Math.max(LONGEST_MS, minutes * MINUTE_MS)
  const touched = new Map<string, number>()
  // past the end of any token that a refresh may be making right now
  const afterAll = (): Date => new Date(clock.now().getTime() + longestMs)

  async function tokenFor(account: Account, id: string, expiresAt: Date): Promise<AccessToken> {
    const { username, role, credentials_at: credentialsAt } = account
    const token = await tokens.issue({ use: 'access', username, role, credentialsAt, id, expiresAt })
    return { token, expiresIn: Math.max(0, Math.floor((expiresAt.getTime() - clock.now().getTime()) / 1000)) }
  }

  return {
    async open(tx, account, { how, ip, agent }) {
      const now = clock.now()
      const id = randomUUID()
      const expiresAt = new Date(now.getTime() + minutes * MINUTE_MS)
      await forgetEnded(tx, now)
      await tx.query(
        'delete from session where id in (select id from session where expires_at <= $1 limit 1000 for update skip locked)',
        [now],
      )
      await tx.query(
        `
        insert into session (id, username, cred, opened_at, seen_at, expires_at, how, ip, agent) values ($1, $2, $3, $4, $4, $5, $6, $7, $8)`,
        [id, account.username, account.credentials_at, now, expiresAt, how, ip, agent.slice(0, 200)],
      )
      return tokenFor(account, id, expiresAt)
    },
    async refresh(account, id) {
      const now = clock.now()
      const row = await db.first<{ expires_at: Date }>(
        `
        update session set cred = $3, seen_at = $4, expires_at = least($5::timestamptz, opened_at + $6 * interval '1 millisecond')
        where id = $1 and username = $2 and expires_at > $4 returning expires_at`,
        [id, account.username, account.credentials_at, now, new Date(now.getTime() + minutes * MINUTE_MS), longestMs],
      )
      return row === undefined ? fail('bad_credential', {}) : tokenFor(account, id, row.expires_at)
    },
    list: username =>
      db.query<Session>(
        `
      select s.id, s.opened_at, s.seen_at, s.expires_at, s.how, s.ip, s.agent from session s join account a using (username)
      where username = $1 and s.expires_at > $2 and not exists (select 1 from ended_token e where e.id = s.id)
        and (date_trunc('milliseconds', s.cred) = date_trunc('milliseconds', a.credentials_at) or s.id = a.kept_session)
      order by s.opened_at desc, s.id`,
        [username, clock.now()],
      ),
    async end(username, ids) {
      const mine = (
        await db.query<{ id: string }>(
          `
        select id from session s where username = $1 and id = any($2) and expires_at > $3 and not exists (select 1 from ended_token e where e.id = s.id)`,
          [username, ids, clock.now()],
        )
      ).map(row => row.id)
      await revocations.revoke(mine, afterAll())
      return mine.length
    },
    endAnyhow: id => revocations.revoke([id], afterAll()),
    isEnded: id => revocations.isRevoked(id),
    async touch(id) {
      const now = clock.now().getTime()
      const last = touched.get(id)
      if (last !== undefined && now - last < MINUTE_MS && now >= last) return
      if (touched.size >= REMEMBERED) touched.clear()
      touched.set(id, now)
      await db.query('update session set seen_at = $2 where id = $1 and seen_at < $2', [id, new Date(now)])
    },
  }
}
