import type { Principal } from '../../../core/access.ts'
import type { Handlers } from '../../../core/contract.ts'
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

/** @throws no_account for an API token */
function ownName(who: Principal): string {
  return who.kind === 'user' ? who.name : fail('no_account', {})
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
    const others = (await sessions.list(username)).map(({ id }) => id).filter(id => id !== who.credential)
    const ended = await sessions.end(username, others)
    await audit.record({
      action: 'SESSION_END',
      result: 'SUCCESS',
      user: username,
      facts: { kind: 'sessions.ended', count: ended },
      ip: raw.clientIp,
    })
    return { message: ended === 0 ? 'There was no other session.' : `${ended} other sessions have ended.`, ended }
  },
  'DELETE /auth/sessions/{id}': async ({ sessions, audit }, { params, who, raw }) => {
    const username = ownName(who)
    if ((await sessions.end(username, [params.id])) === 0)
      fail('session_not_found', { session_id: params.id.slice(0, 80) })
    await audit.record({
      action: 'SESSION_END',
      result: 'SUCCESS',
      user: username,
      facts: { kind: 'session.ended', own: params.id === who.credential },
      ip: raw.clientIp,
    })
    return { message: 'The session has ended.' }
  },
}
