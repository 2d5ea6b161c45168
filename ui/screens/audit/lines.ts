import type { Reply } from '../../wire.ts'

/** A line as the server lists it. */
export type Line = Reply<'GET /artifacts/audit/logs'>['items'][number]
type Action = Line['action']
const ABOUT = {
  UPLOAD: 'Packages',
  IMPORT: 'Packages',
  DELETE: 'Packages',
  SECURITY_DECISION: 'Packages',
  QUARANTINE: 'Packages',
  RESCAN: 'Packages',
  PROMOTE: 'Packages',
  PIN: 'Packages',
  TAG: 'Packages',
  RELEASE_CHANGE: 'Server',
  RESIGN: 'Server',
  DOCUMENT_PUT: 'Packages',
  DOCUMENT_REMOVE: 'Packages',
  RETENTION: 'Packages',
  IMPORT_GROUP_DELETE: 'Packages',
  LOGIN: 'People',
  SESSION_END: 'People',
  USER_CREATE: 'People',
  USER_UPDATE: 'People',
  USER_UNLOCK: 'People',
  USER_DELETE: 'People',
  USER_ROLE_CHANGE: 'People',
  PASSWORD_CHANGE: 'People',
  PASSWORD_RESET: 'People',
  MFA_ENABLE: 'People',
  MFA_DISABLE: 'People',
  MFA_RESET: 'People',
  MFA_RECOVERY_CODES: 'People',
  TOKEN_CREATE: 'People',
  TOKEN_REVOKE: 'People',
  ACCESS_CHANGE: 'People',
  SETTINGS_CHANGE: 'Server',
  GPG_GENERATE: 'Server',
  GPG_IMPORT: 'Server',
  INIT_DISTS: 'Server',
  DISTRIBUTION_CHANGE: 'Server',
  ROLLBACK: 'Server',
  SYNC: 'Server',
  SECURITY_SYNC: 'Server',
  MIRROR: 'Server',
  MIRROR_FREEZE: 'Server',
  SYNC_INDEX: 'Server',
  VULNDB_IMPORT: 'Server',
  UPLOADER_KEY_ADD: 'People',
  UPLOADER_KEY_REMOVE: 'People',
  IMAGE_KEY_ADD: 'People',
  IMAGE_KEY_REMOVE: 'People',
  IMPORT_SOURCE_CHANGE: 'Server',
  IMPORT_KEY_CHANGE: 'Server',
  CLAMAV_UPDATE: 'Server',
  BACKUP_CREATE: 'Server',
  BACKUP_DELETE: 'Server',
  BACKUP_RESTORE: 'Server',
  BUNDLE_MAKE: 'Server',
  BUNDLE_IMPORT: 'Server',
  BUNDLE_REMOVE: 'Server',
  BUNDLE_RECEIPT: 'Server',
  BUNDLE_PIN: 'Server',
  JOB_RUN: 'Server',
  JOB_CANCEL: 'Server',
  SUPPORT_BUNDLE: 'Server',
  DOCKERFILE_ANALYZE: 'Packages',
  RESERVE_GIVE_BACK: 'Server',
  INVENTORY_CHANGE: 'Server',
  INVENTORY_TOKEN: 'Server',
  INVENTORY_HOST_KEY: 'Server',
  MACHINE_CHANGE: 'Server',
  MACHINE_UPDATE: 'Server',
  MACHINE_POWER: 'Server',
} as const satisfies Record<Action, string>
/** Actions by what they are about. */
export const GROUPS = ['Packages', 'People', 'Server'].map(name => ({
  name,
  actions: Object.entries(ABOUT).flatMap(([action, about]) => (about === name ? [action] : [])),
}))
interface Look {
  readonly word: string
  readonly icon: string
  readonly tone: string
}
/** How a result is shown. */
export const RESULTS: Readonly<Record<string, Look>> = {
  SUCCESS: { word: 'Success', icon: 'pass', tone: 'dim' },
  WARNING: { word: 'Warning', icon: 'warn', tone: 'stale' },
  FAILURE: { word: 'Failure', icon: 'fail', tone: 'broken' },
  PARTIAL: { word: 'Partial', icon: 'warn', tone: 'stale' },
  ERROR: { word: 'Error', icon: 'fail', tone: 'broken' },
}
/** A result of a release that is not known here has its own word. */
export const lookOf = (result: string): Look => RESULTS[result] ?? { word: result, icon: 'info', tone: 'dim' }

const FILTERS = ['q', 'user', 'action', 'result', 'arrivals', 'from', 'to'] as const
/** What the address narrows the log to. */
export const filterOf = (query: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> =>
  Object.fromEntries(FILTERS.flatMap(name => (query[name] ? [[name, query[name]]] : [])))
/** Takes all of it out of the address. */
export const NO_FILTER = { ...Object.fromEntries(FILTERS.map(name => [name, undefined])), page: undefined }
