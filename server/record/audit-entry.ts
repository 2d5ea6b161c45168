import type { AuditFacts } from './audit-facts.ts'

/** The actions of the specification, "Audit log entry". */
export const AUDIT_ACTIONS = [
  'LOGIN',
  'USER_CREATE',
  'USER_UPDATE',
  'USER_UNLOCK',
  'USER_DELETE',
  'USER_ROLE_CHANGE',
  'PASSWORD_CHANGE',
  'PASSWORD_RESET',
  'UPLOAD',
  'DELETE',
  'IMPORT',
  'SYNC',
  'MIRROR',
  'MIRROR_FREEZE',
  'SECURITY_SYNC',
  'SECURITY_DECISION',
  'QUARANTINE',
  'RESCAN',
  'CLAMAV_UPDATE',
  'SETTINGS_CHANGE',
  'GPG_GENERATE',
  'GPG_IMPORT',
  'INIT_DISTS',
  'DISTRIBUTION_CHANGE',
  'IMPORT_GROUP_DELETE',
  'BACKUP_CREATE',
  'BACKUP_DELETE',
  'BACKUP_RESTORE',
  'TOKEN_CREATE',
  'TOKEN_REVOKE',
  'PROMOTE',
  'ROLLBACK',
  'RETENTION',
  'TAG',
  'PIN',
  'RELEASE_CHANGE',
  'RESIGN',
  'DOCUMENT_PUT',
  'DOCUMENT_REMOVE',
  'ACCESS_CHANGE',
  'MFA_ENABLE',
  'MFA_DISABLE',
  'MFA_RESET',
  'MFA_RECOVERY_CODES',
  'SESSION_END',
  'SYNC_INDEX',
  'VULNDB_IMPORT',
  'UPLOADER_KEY_ADD',
  'UPLOADER_KEY_REMOVE',
  'IMAGE_KEY_ADD',
  'IMAGE_KEY_REMOVE',
  'IMPORT_SOURCE_CHANGE',
  'IMPORT_KEY_CHANGE',
  'JOB_RUN',
  'JOB_CANCEL',
  'SUPPORT_BUNDLE',
  'DOCKERFILE_ANALYZE',
  'RESERVE_GIVE_BACK',
  'BUNDLE_MAKE',
  'BUNDLE_IMPORT',
  'BUNDLE_REMOVE',
  'BUNDLE_RECEIPT',
  'BUNDLE_PIN',
  'INVENTORY_CHANGE',
  'INVENTORY_TOKEN',
  'INVENTORY_HOST_KEY',
  'MACHINE_CHANGE',
  'MACHINE_UPDATE',
  'MACHINE_POWER',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]
/** The entries that say of a package that it came in, or was stopped as it came. */
export const ARRIVALS: readonly AuditAction[] = ['UPLOAD', 'IMPORT']
/** `PARTIAL` and `ERROR` are of SECURITY_SYNC alone. */
export const AUDIT_RESULTS = ['SUCCESS', 'FAILURE', 'WARNING', 'PARTIAL', 'ERROR'] as const
export type AuditResult = (typeof AUDIT_RESULTS)[number]

/** The facts of one act. Never a secret: not a password, not a token, not a key. */
export interface AuditFact {
  readonly action: AuditAction
  readonly result: AuditResult
  readonly user: string
  readonly package?: string
  readonly version?: string
  readonly distribution?: string
  /** What happened, for programs; the sentence of the line is printed from it. */
  readonly facts: AuditFacts
  /** Source address, for logins and every other request. */
  readonly ip?: string
  /** The request it was done for; `Audit` adds it. */
  readonly request_id?: string
}
/**
 * One line of `audit/YYYY-MM-DD.jsonl`. `prev` is the SHA-256 of the line before it, across files; 64 zeros for the
 * very first.
 */
export interface AuditEntry extends Omit<AuditFact, 'facts'> {
  readonly facts?: AuditFacts
  /** The facts as a sentence. Lines of releases before 0.2 have only this. */
  readonly detail: string
  readonly id: string
  readonly timestamp: string
  readonly prev: string
}

/** A line as it was read back. */
export interface StoredEntry extends AuditEntry {
  /** The SHA-256 of the line as it lies on disk; the next line has it as its `prev`. */
  readonly hash: string
}

export interface AuditFilter {
  readonly package?: string
  readonly action?: string
  /** Any of these. */
  readonly actions?: readonly AuditAction[]
  readonly result?: string
  /** Packages that came in, and those that were stopped as they came. */
  readonly arrivals?: 'taken' | 'stopped'
  readonly user?: string
  readonly q?: string
  readonly request_id?: string
  readonly from?: string
  readonly to?: string
}

export interface AuditQuery extends AuditFilter {
  readonly page: number
  readonly perPage: number
  /** Oldest first; otherwise newest first. */
  readonly isAscending?: boolean
}
