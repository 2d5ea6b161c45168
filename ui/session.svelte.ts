import { ApiProblem, call, lendCredential } from './api.ts'
import { desktopHost } from './host.ts'
import { joinTabs } from './tabs.ts'
import type { Me, Reply, Role } from './wire.ts'
import { forgetWork } from './work-place.ts'

/** Session storage: the token ends with the last tab, and no later user of this computer finds it. */
const KEY = 'gatehouse.token'
/** A token is renewed when this much of its life is left, while the tab is open. */
const RENEW_BEFORE_MS = 10 * 60_000
/**
 * Who has not touched this tab for so long is taken to be away, and the session of someone who is away is not
 * prolonged.
 */
const AWAY_MS = 30 * 60_000
/** Longer waits overflow a timer. */
const LONGEST_WAIT_MS = 2 ** 31 - 1

interface Session {
  /**
   * Undefined while nobody is signed in; after a session ended in the middle of work, still the one whose work it is.
   */
  readonly me: Me | undefined
  /**
   * `starting`: a kept token is being checked. `expired`: there was a session a moment ago. `unreachable`: nobody knows
   * yet.
   */
  readonly state: 'starting' | 'out' | 'expired' | 'unreachable' | 'in'
  /** Who was signed in before the session expired, for the login form. */
  readonly lastName: string
}

/** What a password, or a single sign-on, leads to. `until` is when that step is over. */
export type Step =
  | { readonly kind: 'in' }
  | { readonly kind: 'code'; readonly token: string; readonly until: Date }
  | { readonly kind: 'enroll'; readonly token: string; readonly until: Date }
/** A finished login that has not been taken up yet. */
export interface Access {
  readonly access_token: string
}

let session = $state.raw<Session>({ me: undefined, state: 'starting', lastName: '' })
let entered = $state(0)
let token: string | undefined
let renewal: ReturnType<typeof setTimeout> | undefined
let lastInput = Date.now()
for (const type of ['pointerdown', 'keydown'])
  globalThis.addEventListener?.(
    type,
    () => {
      lastInput = Date.now()
    },
    { passive: true },
  )

/** When a token ends, as it says itself; nothing is trusted to this, it only times the renewal. */
function endOf(jwt: string): number | undefined {
  try {
    const { exp } = JSON.parse(atob((jwt.split('.')[1] ?? '').replace(/-/g, '+').replace(/_/g, '/'))) as {
      exp?: unknown
    }
    return typeof exp === 'number' ? exp * 1000 : undefined
  } catch {
    return undefined
  }
}

/** Keeps it for the next page: in the keychain of the desktop program, or as long as the tab. */
function store(value: string | undefined): void {
  const desktop = desktopHost()
  if (desktop !== undefined) return void desktop.ask('session.keep', { token: value ?? null }).catch(() => {})
  try {
    if (value === undefined) sessionStorage.removeItem(KEY)
    else sessionStorage.setItem(KEY, value)
  } catch {
    /* storage may be forbidden; the session then lives in memory alone */
  }
}

async function findKept(): Promise<string | undefined> {
  const desktop = desktopHost()
  if (desktop !== undefined) return (await desktop.ask('session.read', {})).token ?? undefined
  try {
    return sessionStorage.getItem(KEY) ?? (await tabs.ask())
  } catch {
    return tabs.ask()
  }
}

function keep(value: string | undefined): void {
  const before = token === undefined ? 0 : (endOf(token) ?? 0)
  token = value
  clearTimeout(renewal)
  store(value)
  const end = value === undefined ? undefined : endOf(value)
  // a renewal that brings no more time is the last one: the server ends a session some hours after its login
  if (end === undefined || end - before < 60_000) return
  renewal = setTimeout(
    () => {
      void renew()
    },
    Math.min(Math.max(end - Date.now() - RENEW_BEFORE_MS, 30_000), LONGEST_WAIT_MS),
  )
}

async function renew(): Promise<void> {
  if (Date.now() - lastInput > AWAY_MS) {
    renewal = setTimeout(() => {
      void renew()
    }, 60_000)
    return
  }
  try {
    keep((await call('POST /auth/refresh')).access_token)
  } catch {
    /* a 401 has ended the session already; without an answer the token goes on until its end */
  }
}

lendCredential({
  token: () => token,
  refused: used => {
    if (used !== token) return // an old answer: someone has signed in since
    keep(undefined)
    session = { me: session.me, state: 'expired', lastName: session.me?.username ?? session.lastName }
  },
})

export function currentSession(): Session {
  return session
}

/**
 * How often somebody signed in since the page was loaded. Whoever reads it hears of the next time: what was refused
 * meanwhile is asked again.
 */
export function signIns(): number {
  return entered
}

/** Signed out on purpose. */
function leave(): void {
  keep(undefined)
  session = { me: undefined, state: 'out', lastName: '' }
  forgetWork()
}

const tabs = joinTabs(
  () => (session.state === 'in' ? token : undefined),
  ended => {
    if (ended === token) leave()
  },
)

async function enter(): Promise<void> {
  const me = await call('GET /auth/me')
  if (session.me !== undefined && session.me.username !== me.username) forgetWork()
  session = { me, state: 'in', lastName: me.username }
}

/** Takes up a kept token, or that of another tab, if there is one. */
export async function resume(): Promise<void> {
  const kept = await findKept().catch(() => undefined)
  if (kept !== undefined) keep(kept)
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

/** Takes up a finished login. @throws ApiProblem */
export async function takeUp(access: Access): Promise<Step> {
  keep(access.access_token)
  await enter()
  entered++
  return { kind: 'in' }
}

async function follow(reply: Reply<'POST /auth/token'>): Promise<Step> {
  const until = new Date(Date.now() + reply.expires_in * 1000)
  if ('mfa_token' in reply) return { kind: 'code', token: reply.mfa_token, until }
  if ('mfa_setup_token' in reply) return { kind: 'enroll', token: reply.mfa_setup_token, until }
  return takeUp(reply)
}

/** The first step. @throws ApiProblem */
export async function signIn(username: string, password: string): Promise<Step> {
  return follow(await call('POST /auth/token', { body: { username, password } }))
}

/** Takes up what a single sign-on brought back, to this browser or to the program. @throws ApiProblem */
export async function arrive(code: string, verifier?: string): Promise<Step> {
  return follow(
    await call('POST /auth/oidc/exchange', { body: { code, ...(verifier === undefined ? {} : { verifier }) } }),
  )
}

/** The second step, with six digits or a recovery code. @throws ApiProblem */
export async function answerChallenge(
  challenge: string,
  answer: { readonly totp_code: string } | { readonly recovery_code: string },
): Promise<Step> {
  return takeUp(await call('POST /auth/mfa/authenticate', { body: { mfa_token: challenge, ...answer } }))
}

/** Ends the session here and, where it answers, on the server: a copied token is then worth nothing. */
export function signOut(): void {
  // it ends by itself otherwise; nobody waits for that
  if (token !== undefined) {
    void call('POST /auth/logout').catch(() => {})
    tabs.end(token)
  }
  leave()
}

/** Reads the profile again, after it was changed. */
export async function refreshMe(): Promise<void> {
  await enter()
}

// Words of the permission summary; the server checks again, this only explains beforehand.
const ALLOWED = {
  auditor: ['auditor', 'maintainer', 'admin'],
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
