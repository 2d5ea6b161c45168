/** The five roles of the specification, weakest first; `auditor` is lateral: it reads more and writes nothing. */
export const ROLES = ['reader', 'auditor', 'uploader', 'maintainer', 'admin'] as const
export type Role = typeof ROLES[number]

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
export const ROLE_CARDS: Record<Role, { readonly label: string; readonly description: string; readonly color: string }> = {
  reader: { label: 'Reader', description: 'Reads packages, distributions, findings and statistics.', color: 'gray' },
  auditor: { label: 'Auditor', description: 'Reads everything a reader does, and the audit log and inventory. Changes nothing.', color: 'purple' },
  uploader: { label: 'Uploader', description: 'Uploads and imports packages.', color: 'blue' },
  maintainer: { label: 'Maintainer', description: 'Decides on held packages, deletes, promotes and quarantines.', color: 'orange' },
  admin: { label: 'Admin', description: 'Does everything, and alone manages users, tokens, keys and settings.', color: 'red' },
}

/** Whoever makes a request, once the credential is checked. */
export interface Principal {
  readonly kind: 'user' | 'token'
  /** User name, or the API token's label. */
  readonly name: string
  readonly role: Role
  /** JWT `jti`, or the API token's id. */
  readonly credential: string
}

export function isRole(text: unknown): text is Role {
  return typeof text === 'string' && (ROLES as readonly string[]).includes(text)
}

/** True when `role` may call a route of this access. `public` allows everyone, also nobody. */
export function allows(access: Access, role: Role | undefined): boolean {
  if (access === 'public') return true
  return role !== undefined && ALLOWED[access].includes(role)
}
