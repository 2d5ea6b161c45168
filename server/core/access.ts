import { fail } from './errors.ts'

/** The five roles of the specification, weakest first; `auditor` is lateral: it reads more and writes nothing. */
export const ROLES = ['reader', 'auditor', 'uploader', 'maintainer', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** What an account may be called, wherever it comes from. */
export const USERNAME = /^[A-Za-z0-9_@][A-Za-z0-9._@-]{0,63}$/

/** Who may call a route, in the specification's own words. */
export type Access = 'public' | 'any' | 'uploader+' | 'auditor+' | 'maintainer+' | 'admin'

const ALLOWED: Record<Exclude<Access, 'public'>, readonly Role[]> = {
  'any': ROLES,
  'uploader+': ['uploader', 'maintainer', 'admin'],
  'auditor+': ['auditor', 'maintainer', 'admin'],
  'maintainer+': ['maintainer', 'admin'],
  'admin': ['admin'],
}

/** What each role is for, as `GET /auth/roles` answers it. Colours are names of the console's tokens. */
export const ROLE_CARDS: Record<
  Role,
  { readonly label: string; readonly description: string; readonly color: string }
> = {
  reader: { label: 'Reader', description: 'Reads packages, distributions, findings and statistics.', color: 'gray' },
  auditor: {
    label: 'Auditor',
    description: 'Reads everything a reader does, and the audit log. Changes nothing.',
    color: 'purple',
  },
  uploader: { label: 'Uploader', description: 'Uploads and imports packages.', color: 'blue' },
  maintainer: {
    label: 'Maintainer',
    description: 'Decides on held packages, deletes, promotes and quarantines.',
    color: 'orange',
  },
  admin: {
    label: 'Admin',
    description: 'Does everything, and alone manages users, tokens, keys and settings.',
    color: 'red',
  },
}

/** The limits of an API token, beside its role. */
export interface Scope {
  /** Codenames; undefined means all of them. */
  readonly distributions?: readonly string[]
  /** It may upload packages and nothing else. */
  readonly uploadOnly: boolean
}

/**
 * The sender of a request, once the credential is checked. `setup`: the password was right, but only the second factor
 * may be set up.
 */
export interface Principal {
  readonly kind: 'user' | 'token' | 'setup'
  /** User name, or the API token's label. */
  readonly name: string
  readonly role: Role
  /** JWT `jti`, or the API token's id. */
  readonly credential: string
  /** Undefined for users and for API tokens without limits. */
  readonly scope?: Scope
  /** The limit of this one API token; absent: the settings say. */
  readonly uploadsPerMinute?: number
}

/** The account that asks. @throws no_account for an API token and for a login that has no session yet */
export function ownName(who: Principal): string {
  return who.kind === 'user' ? who.name : fail('no_account', {})
}

/** Whether a text is the name of a role. */
export function isRole(text: unknown): text is Role {
  return typeof text === 'string' && (ROLES as readonly string[]).includes(text)
}

/** True when `role` may call a route of this access. `public` allows everyone, also without signing in. */
export function allows(access: Access, role: Role | undefined): boolean {
  if (access === 'public') return true
  return role !== undefined && ALLOWED[access].includes(role)
}

/**
 * True when an account of role `own` may give `role` to somebody: `role` can do nothing that `own` cannot. `auditor` is
 * within maintainer and admin only.
 */
export function covers(own: Role, role: Role): boolean {
  return Object.values(ALLOWED).every(roles => !roles.includes(role) || roles.includes(own))
}

/**
 * How a route treats API tokens with limits: `upload` takes a package in, `distribution` asks `needScope` for each one
 * that it touches.
 */
export type Scoped = 'upload' | 'distribution'

/**
 * Refuses what a limited API token may not ask for. A token for uploads may only upload; any other may not make changes
 * that ignore its distributions. Reads stay open. @throws outside_scope
 */
export function needRoute(
  { scope }: Principal,
  route: { readonly scoped: Scoped | undefined; readonly isRead: boolean },
): void {
  if (scope === undefined || route.scoped === 'upload') return
  if (scope.uploadOnly) fail('outside_scope', { limits: printScope(scope) })
  if (route.scoped !== 'distribution' && !route.isRead) fail('outside_scope', { limits: printScope(scope) })
}

/** Refuses a distribution that is not in the token's list. @throws outside_distribution */
export function needScope({ scope }: Pick<Principal, 'scope'>, codename: string): void {
  if (scope?.distributions === undefined || scope.distributions.includes(codename)) return
  fail('outside_distribution', { codename, allowed: scope.distributions.join(', ') })
}

/**
 * Refuses what a limited API token may not change; `all` concerns every distribution.
 * @throws outside_scope, outside_distribution
 */
export function needScopes(who: Pick<Principal, 'scope'>, codenames: readonly string[] | 'all'): void {
  if (codenames !== 'all') for (const codename of codenames) needScope(who, codename)
  else if (who.scope?.distributions !== undefined) fail('outside_scope', { limits: printScope(who.scope) })
}

/** The limits in words, for messages: `uploads to jammy, noble`. */
function printScope({ distributions, uploadOnly }: Scope): string {
  return `${uploadOnly ? 'uploads' : 'reading, and changes'} to ${distributions?.join(', ') ?? 'any distribution'}`
}
