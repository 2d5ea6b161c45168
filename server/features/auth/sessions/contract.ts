import { Type } from '@sinclair/typebox'
import { contract } from '../../../core/contract.ts'
import { LOGIN_WAYS, type LoginWay } from '../../../core/login-way.ts'
import { Done, listed } from '../../../core/schemas.ts'
import { AccessReply } from '../login/contract.ts'

const Session = Type.Object({
  id: Type.String(),
  opened_at: Type.String(),
  last_seen_at: Type.String({ description: 'To the minute.' }),
  expires_at: Type.String(),
  how: listed<LoginWay>(LOGIN_WAYS),
  ip: Type.String(),
  user_agent: Type.String(),
  current: Type.Boolean({ description: 'The session of this request.' }),
})

const Ended = Type.Object({ message: Type.String(), ended: Type.Integer() })

/** Logins: one's own, and for admins those of others. */
export const sessions = contract({
  'POST /auth/logout': { summary: "Ends the caller's session.", access: 'any', reply: Done, fails: ['no_account'] },
  'POST /auth/refresh': {
    summary:
      'Issues a new access token for the same session, up to 12 hours after the login. The earlier token stays valid until it expires.',
    access: 'any',
    limit: { bucket: 'refresh', perMinute: 30 },
    reply: AccessReply,
    fails: ['no_account'],
  },
  'GET /auth/sessions': {
    summary: "Lists the caller's own sessions, newest first.",
    access: 'any',
    reply: Type.Object({ sessions: Type.Array(Session) }),
  },
  'DELETE /auth/sessions': {
    summary: "Ends all of the caller's other sessions.",
    access: 'any',
    reply: Ended,
    fails: ['no_account'],
  },
  'DELETE /auth/sessions/{id}': {
    summary: "Ends one of the caller's own sessions.",
    access: 'any',
    reply: Done,
    fails: ['no_account', 'session_not_found'],
  },
  'GET /auth/users/{username}/sessions': {
    summary: "Lists a user's sessions, newest first.",
    access: 'admin',
    reply: Type.Object({ sessions: Type.Array(Session) }),
    fails: ['user_not_found'],
  },
  'DELETE /auth/users/{username}/sessions': {
    summary: "Signs a user out everywhere; of the caller's own sessions the one of this request goes on.",
    access: 'admin',
    reply: Ended,
    fails: ['user_not_found'],
  },
  'DELETE /auth/users/{username}/sessions/{id}': {
    summary: "Ends one of a user's sessions.",
    access: 'admin',
    reply: Done,
    fails: ['user_not_found', 'user_session_not_found'],
  },
})
