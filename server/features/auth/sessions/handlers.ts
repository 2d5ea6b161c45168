import { ownName, type Principal } from '../../../core/access.ts'
import type { Handlers, RawRequest } from '../../../core/contract.ts'
import { fail } from '../../../core/errors.ts'
import type { Db } from '../../../db/db.ts'
import type { Audit } from '../../../record/audit.ts'
import type { MfaPolicy } from '../mfa/policy.ts'
import type { sessions as rows } from './contract.ts'
import type { Session, Sessions } from './sessions.ts'
import { findAccount } from '../accounts/store.ts'
import { accessView } from '../login/views.ts'

export interface SessionHandlerDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'record'>
  readonly sessions: Sessions
  readonly policy: MfaPolicy
}

function view({ id, opened_at, seen_at, expires_at, how, ip, agent }: Session, current: string) {
  return {
    id,
    opened_at: opened_at.toISOString(),
    last_seen_at: seen_at.toISOString(),
    expires_at: expires_at.toISOString(),
    how,
    ip,
    user_agent: agent,
    current: id === current,
  }
}

async function needUser(db: Db, username: string): Promise<void> {
  if ((await findAccount(db, username)) === undefined) fail('user_not_found', { username })
}

/** Ends all but the session of this request. @returns how many there were */
async function endOthers(sessions: Sessions, username: string, own: string): Promise<number> {
  return sessions.end(
    username,
    (await sessions.list(username)).map(({ id }) => id).filter(id => id !== own),
  )
}

const noteOf = (who: Principal, raw: RawRequest) =>
  ({ action: 'SESSION_END', result: 'SUCCESS', user: who.name, ip: raw.clientIp }) as const

export const sessionHandlers: Handlers<typeof rows, SessionHandlerDeps> = {
  'POST /auth/logout': async ({ sessions }, { who }) => {
    ownName(who)
    await sessions.endAnyhow(who.credential)
    return { message: 'You are logged out.' }
  },
  'POST /auth/refresh': async ({ db, sessions, policy }, { who }) => {
    const account = (await findAccount(db, ownName(who))) ?? fail('bad_credential', {})
    // a session must not outlast the time that the policy gives
    if ((await policy.atLogin(account)).kind === 'over') fail('bad_credential', {})
    return accessView(await sessions.refresh(account, who.credential))
  },
  'GET /auth/sessions': async ({ sessions }, { who }) => ({
    sessions: who.kind === 'user' ? (await sessions.list(who.name)).map(session => view(session, who.credential)) : [],
  }),
  'DELETE /auth/sessions': async ({ sessions, audit }, { who, raw }) => {
    const username = ownName(who)
    const ended = await endOthers(sessions, username, who.credential)
    await audit.record({ ...noteOf(who, raw), facts: { kind: 'sessions.ended', count: ended } })
    return { message: ended === 0 ? 'There was no other session.' : `${ended} other sessions have ended.`, ended }
  },
  'DELETE /auth/sessions/{id}': async ({ sessions, audit }, { params, who, raw }) => {
    const username = ownName(who)
    if ((await sessions.end(username, [params.id])) === 0)
      fail('session_not_found', { session_id: params.id.slice(0, 80) })
    await audit.record({
      ...noteOf(who, raw),
      facts: { kind: 'session.ended', own: params.id === who.credential },
    })
    return { message: 'The session has ended.' }
  },
  'GET /auth/users/{username}/sessions': async ({ db, sessions }, { params: { username }, who }) => {
    await needUser(db, username)
    return { sessions: (await sessions.list(username)).map(session => view(session, who.credential)) }
  },
  'DELETE /auth/users/{username}/sessions': async ({ db, sessions, audit }, { params: { username }, who, raw }) => {
    await needUser(db, username)
    const ended = await endOthers(sessions, username, who.credential)
    await audit.record({ ...noteOf(who, raw), facts: { kind: 'sessions.ended', count: ended, username } })
    return {
      message: ended === 0 ? `${username} was signed in nowhere.` : `${ended} sessions of ${username} have ended.`,
      ended,
    }
  },
  'DELETE /auth/users/{username}/sessions/{id}': async (
    { db, sessions, audit },
    { params: { username, id }, who, raw },
  ) => {
    await needUser(db, username)
    if ((await sessions.end(username, [id])) === 0)
      fail('user_session_not_found', { username, session_id: id.slice(0, 80) })
    await audit.record({
      ...noteOf(who, raw),
      facts: { kind: 'session.ended', own: id === who.credential, username },
    })
    return { message: `The session of ${username} has ended.` }
  },
}
