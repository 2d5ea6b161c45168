import { ApiProblem, call, lendCredential } from './api.ts'
import type { Me, Role } from './wire.ts'

/** Session storage: the token ends with the tab, and no other tab or later user of this computer finds it. */
const KEY = 'gatehouse.token'

interface Session {
  /** Undefined while nobody is signed in. */
  readonly me: Me | undefined
  /** `starting`: a kept token is being checked. `expired`: there was a session a moment ago. `unreachable`: nobody knows yet. */
  readonly state: 'starting' | 'out' | 'expired' | 'unreachable' | 'in'
  /** Who was signed in before the session expired, for the login form. */
  readonly lastName: string
}

let session = $state.raw<Session>({ me: undefined, state: 'starting', lastName: '' })
let token: string | undefined

function keep(value: string | undefined): void {
  token = value
  try {
    if (value === undefined) sessionStorage.removeItem(KEY)
    else sessionStorage.setItem(KEY, value)
  } catch { /* storage may be forbidden; the session then lives in memory alone */ }
}

lendCredential({
  token: () => token,
  refused: used => {
    if (used !== token) return // an old answer: someone has signed in since
    keep(undefined)
    session = { me: undefined, state: 'expired', lastName: session.me?.username ?? session.lastName }
  },
})

export function currentSession(): Session {
  return session
}

async function enter(): Promise<void> {
  const me = await call('GET /auth/me')
  session = { me, state: 'in', lastName: me.username }
}

/** Takes up a kept token, if there is one. */
export async function resume(): Promise<void> {
  try { token = sessionStorage.getItem(KEY) ?? undefined } catch { token = undefined }
  if (token === undefined) {
    session = { ...session, state: 'out' }
    return
  }
  try {
    await enter()
  } catch (error) {
    // a 401 has already made it `expired`; without an answer the token is kept and may still be good
    if (!(error instanceof ApiProblem && error.status === 401)) session = { ...session, state: 'unreachable' }
  }
}

/** @throws ApiProblem */
export async function signIn(username: string, password: string): Promise<void> {
  const reply = await call('POST /auth/token', { body: { username, password } })
  if (!('access_token' in reply)) throw new Error('This account has a second factor, and this page cannot ask for it yet.')
  keep(reply.access_token)
  await enter()
}

export function signOut(): void {
  keep(undefined)
  session = { me: undefined, state: 'out', lastName: '' }
}

/** Reads the profile again, after it was changed. */
export async function refreshMe(): Promise<void> {
  await enter()
}

// Words of the permission summary; the server checks again, this only explains beforehand.
const ALLOWED = {
  uploader: ['uploader', 'maintainer', 'admin'],
  maintainer: ['maintainer', 'admin'],
  admin: ['admin'],
} as const satisfies Record<string, readonly Role[]>

/** Why the signed-in person may not do something, or undefined when they may. */
export function needs(least: keyof typeof ALLOWED): string | undefined {
  const role = session.me?.role
  if (role !== undefined && (ALLOWED[least] as readonly Role[]).includes(role)) return undefined
  return `Needs ${least}. You are ${role ?? 'signed out'}.`
}
