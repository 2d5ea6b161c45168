import type { LoginWay } from '../core/login-way.ts'
import type { State } from '../core/manifest.ts'
import type { StepName } from '../core/report.ts'

/** Why a login or a confirmation by password or code was refused. */
export type Refusal =
  | 'no_such_user'
  | 'no_account'
  | 'wrong_password'
  | 'locked'
  | 'inactive'
  | 'directory_silent'
  | 'directory_refused'
  | 'wrong_code_or_locked'
  | 'wrong_recovery_code_or_locked'
  | 'wrong_password_or_locked'
  | 'wrong_current_password_or_locked'

/** Where an act moved a package. Both are the same where it stayed. */
interface Moved {
  readonly from_state: State
  readonly to_state: State
}
interface Account {
  readonly username: string
}
type Names = readonly string[]
/** Absent in lines of releases before 0.2. In a rule a name is `role:reader`, `user:ada` or `group:desk`. */
export interface NamesChanged {
  readonly added: Names
  readonly removed: Names
}
interface UploaderKey {
  readonly name: string
  readonly fingerprint: string
  /** Absent: for every distribution. */
  readonly distributions?: Names
}
type ImageKey = Omit<UploaderKey, 'distributions'> & { readonly registries?: Names }
interface ImportSource {
  readonly key: string
  readonly address: string
}
/** `key`: a fingerprint, or the file name of an APK key. */
interface ImportKey {
  readonly key: string
  readonly label: string
}

/** A document of a tree; what its kind has no use for is absent. */
interface DocumentFact {
  readonly document: string
  readonly component?: string
  readonly arch?: string
  readonly name?: string
}

/** What a distribution is made of. */
interface DefinedFact {
  readonly architectures: Names
  readonly components: Names
}

/** A reviewer's decision on a package, or on one vulnerability of it. */
export interface DecidedFact {
  readonly decision: string
  readonly cve?: string
  readonly until?: string
  readonly reason: string
}

/** A supplier's document about the vulnerabilities of a package. */
export interface VexFact {
  readonly act: 'added' | 'accepted' | 'removed'
  /** Its own id. */
  readonly document: string
  readonly author: string
  readonly sha256: string
  readonly issued: string
  /** Whether its word counts; of a removed one: counted. */
  readonly accepted: boolean
}

/** What a setting or rule was and is, in words; secrets and passwords in addresses as `***`. */
export interface ChangeFact {
  readonly key: string
  readonly from: string
  readonly to: string
}

/** An acceptance that ended. */
export interface EndedFact {
  readonly cve?: string
  readonly by: string
  readonly ended_at: string
}

/**
 * What an audit line says beside who, when and about which package, by the kind of act. Written to disk and read by
 * programs: a kind keeps its fields, a new one is added. No field at any depth is called `package`, `user`, `action`,
 * `result` or `request_id`: `audit-search.ts` looks for those names in the bytes of a line. Never a secret.
 */
export interface FactsOf {
  // packages
  'tree.adoption_asked': { readonly path: string; readonly group: string; readonly job: string }
  'tree.adopted': {
    readonly path: string
    readonly group: string
    readonly added: number
    readonly held: number
    readonly blocked: number
    /** Here already. */
    readonly skipped: number
    readonly failed: number
  }
  'package.admitted': {
    readonly file: string
    /** Of the bytes as they were sent. */
    readonly sha256: string
    readonly state: State
    /** The steps of the gate that decided it. */
    readonly because?: readonly StepName[]
    /** The file was signed here, which made other bytes of it. */
    readonly signed?: { readonly key: string; readonly sha256: string }
    /** The other files of a version that has several. */
    readonly with_files?: Names
  }
  /** An upload whose signature is not accepted; `code` is the error of the API. */
  'announcement.refused': { readonly file: string; readonly code: string; readonly why: string }
  'package.copied': { readonly arch: string; readonly from_distribution: string; readonly sha256: string }
  'package.deleted': { readonly arch: string; readonly from_state: State; readonly reason: string }
  'package.decided': Moved & { readonly decisions: readonly DecidedFact[] }
  /** `closed`: findings that its word closes from now on; `opened`: those that count again. */
  'package.vex': Moved & VexFact & { readonly closed: Names; readonly opened: Names }
  'package.assigned': { readonly to?: string }
  'package.quarantined': Moved & { readonly reason: string }
  'package.lapsed': Moved & { readonly ended: readonly EndedFact[] }
  /** `message` is what the scan said as a whole; absent where only data were compared. */
  'package.rescanned': Moved & { readonly message?: string; readonly found: Names; readonly lost: Names }
  'package.held': Moved & { readonly reason: string }
  'package.pinned': { readonly reason: string }
  'package.unpinned': Record<never, never>
  /** Absent versions: the tag named nothing before, or names nothing now. */
  'package.tagged': {
    readonly tag: string
    readonly from_version?: string
    readonly to_version?: string
    readonly reason?: string
  }
  /** Without a reason it is deprecated no longer. */
  'package.deprecated': { readonly reason?: string }
  /** Without a reason it is yanked no longer. */
  'package.yanked': { readonly reason?: string }
  // distributions
  'distributions.set_up': {
    readonly distributions: Names
    readonly made_key?: string
    /** Nobody asked for it: its first package was published. */
    readonly by_package?: true
  }
  'distribution.added': DefinedFact
  'distribution.changed': DefinedFact
  'distribution.retired': DefinedFact
  'distribution.reactivated': DefinedFact
  'distribution.removed': DefinedFact
  'registry.added': { readonly format: string; readonly changes?: readonly ChangeFact[] }
  'waiver.given': { readonly reason: string; readonly until: string }
  'waiver.taken': object
  'registry.changed': {
    readonly label: string
    readonly state: 'active' | 'retired'
    readonly changes?: readonly ChangeFact[]
  }
  'registry.removed': { readonly format: string }
  'distribution.rolled_back': {
    readonly generation: number
    /** The generation it repeats; absent where the tree follows the packages again. */
    readonly like?: number
    readonly reason: string
  }
  'retention.changed': { readonly keep: number | null }
  /** Files of the audit log itself; see `Cut` of `audit-chain.ts`. `broken` absent: the part was whole. */
  'audit.cut': {
    readonly days: number
    readonly files: number
    readonly lines: number
    readonly bytes: number
    readonly first_day: string
    readonly last_day: string
    readonly hash: string
    readonly broken?: number
  }
  'release.changed': {
    readonly not_automatic: boolean
    readonly but_automatic_upgrades: boolean
    readonly valid_days: number
  }
  /** `until` absent: clients take it for ever. */
  'root.signed_again': { readonly generation: number; readonly until?: string }
  'document.put': DocumentFact & { readonly sha256: string; readonly size: number }
  'document.removed': DocumentFact
  'access.changed': {
    readonly private: boolean
    readonly roles: Names
    readonly usernames: Names
    readonly groups: Names
  } & Partial<NamesChanged>
  'group.changed': { readonly group: string; readonly members: Names } & Partial<NamesChanged>
  'group.removed': { readonly group: string }
  'index.rebuilt': {
    readonly manifests: number
    readonly added: number
    readonly changed: number
    readonly removed: number
    readonly unreadable: number
  }
  // people
  'login': { readonly how: LoginWay; readonly codes_left?: number; readonly awaits?: 'second_factor' | 'set_up' }
  'refused': { readonly why: Refusal }
  'sso.refused': { readonly word: string }
  'account.created': Account & {
    readonly role: string
    readonly by: 'admin' | 'setup' | 'environment' | 'ldap' | 'oidc'
  }
  'account.changed': Account & { readonly fields: Names }
  'account.unlocked': Account
  'account.removed': Account
  'role.changed': Account & { readonly from_role: string; readonly to_role: string; readonly by: string }
  'password.changed': Record<never, never>
  'password.reset': Partial<Account> & { readonly by: 'admin' | 'link' | 'screen' }
  'password.link_sent': Record<never, never>
  'mfa.enabled': Record<never, never>
  'mfa.disabled': Record<never, never>
  /** At the screen of the machine, or by an admin. */
  'mfa.reset': Account & { readonly by?: 'screen' }
  'mfa.codes_renewed': Record<never, never>
  /** With a name: by an admin. */
  'sessions.ended': Partial<Account> & { readonly count: number }
  'session.ended': Partial<Account> & { readonly own: boolean }
  'token.created': {
    readonly name: string
    readonly role: string
    readonly days?: number
    readonly upload_only: boolean
    readonly distributions?: Names
    readonly uploads_per_minute?: number
  }
  'token.revoked': { readonly name: string; readonly role: string }
  // keys of developers
  'uploader_key.added': UploaderKey
  'uploader_key.removed': UploaderKey
  'image_key.added': ImageKey
  'image_key.removed': ImageKey
  // repositories of others
  'import_source.added': ImportSource
  /** Names of fields. */
  'import_source.changed': { readonly key: string; readonly fields: Names }
  'import_source.removed': ImportSource
  /** An older root, or one of another owner, is taken once. */
  'import_source.accepted': { readonly key: string; readonly what: 'older' | 'origin'; readonly reason: string }
  'import_key.added': ImportKey
  'import_key.removed': ImportKey
  /** Absent `until`: no longer. */
  'import_key.accepted': ImportKey & { readonly until?: string; readonly reason: string }
  // the server
  /** Without `changes` in a line of an earlier release. */
  'settings.changed': { readonly keys: Names; readonly changes?: readonly ChangeFact[] }
  'backup.made': {
    readonly file_name: string
    readonly size: number
    readonly packages: number
    readonly files: number
    readonly encrypted: boolean
  }
  'backup.failed': { readonly why: string }
  'backup.deleted': { readonly file_name: string }
  /** `of` and `restored_at` are ISO 8601. */
  'backup.restored': {
    readonly backup: string
    /** Of a stick its label and the path on it. */
    readonly from?: string
    readonly packages: number
    readonly of: string
    /** Whether this log went on; absent in a line of an earlier release, where it was replaced. */
    readonly log?: 'kept' | 'taken' | 'replaced'
    /** Where what was put aside lies, below REPOS_ROOT. */
    readonly aside?: string
  }
  'backup.undone': { readonly restored_at: string; readonly log?: 'kept' | 'replaced' }
  /** A job of the clock that somebody began, and long work that somebody ended. */
  'job.run': { readonly job: string; readonly work: string }
  'job.cancelled': { readonly job: string; readonly work: string }
  /** The machine that the service runs on: the verb of `server/machine/protocol.ts`, and values that are no secret. */
  'appliance.changed': { readonly verb: string; readonly changes: readonly ChangeFact[] }
  'appliance.failed': { readonly verb: string; readonly why: string }
  'appliance.file': { readonly file: string; readonly size: number; readonly sha256: string }
  /** The file that kept room on the disk. */
  'reserve.given_back': { readonly bytes: number }
  // packages of others
  /** `end`: why it ended, such as `complete` or `time`. */
  'source.mirrored': {
    readonly source: string
    readonly end: string
    readonly added: number
    readonly pending: number
    readonly blocked: number
    readonly failed: number
  }
  /** Names of what was set. */
  'mirror.rule': { readonly source: string; readonly values: Readonly<Record<string, string>> }
  'mirror.frozen': { readonly frozen: boolean; readonly reason?: string }
  'security.updated': {
    readonly distributions: Names
    readonly added: number
    readonly pending: number
    readonly blocked: number
    readonly failed: number
  }
  'import.asked': { readonly packages: Names; readonly group: string; readonly job: string }
  'import.group_deleted': { readonly group: string; readonly removed: number; readonly kept: number }
  'dockerfile.read': { readonly names: number; readonly importable: number }
  'support.bundle': { readonly file: string }
  // bundles for sites without a network
  'bundle.made': { readonly bundle: string; readonly site: string; readonly packages: number; readonly size: number }
  'bundle.removed': { readonly bundle: string }
  'bundle.taken': {
    readonly bundle: string
    readonly sender: string
    readonly fingerprint: string
    /** An admin allowed one that is older than the last. */
    readonly older: boolean
    readonly missing: readonly number[]
    readonly published: number
    readonly already: number
    readonly held: number
    readonly refused: number
    readonly waits: number
  }
  'bundle.refused': { readonly file: string; readonly why: string }
  'bundle.receipt_made': { readonly receipt: string; readonly sender: string }
  'bundle.receipt_read': { readonly receipt: string; readonly site: string; readonly number: number }
  'bundle.site_added': { readonly site: string; readonly fingerprints: Names }
  'bundle.site_key': { readonly site: string; readonly fingerprints: Names }
  'bundle.site_removed': { readonly site: string }
  'bundle.sender_pinned': { readonly sender: string; readonly fingerprints: Names }
  'bundle.sender_removed': { readonly sender: string }
  // machines
  'machine.added': { readonly client: number; readonly hostname: string; readonly connection: string }
  /** Names of fields only: one of them is a password. */
  'machine.changed': { readonly client: number; readonly hostname: string; readonly fields: Names }
  'machine.removed': { readonly client: number; readonly hostname: string }
  'machine.token': { readonly client: number; readonly hostname: string }
  'machine.key_trusted': { readonly client: number; readonly hostname: string; readonly fingerprint: string }
  'machine.key_forgotten': { readonly client: number; readonly hostname: string; readonly fingerprint: string }
  'machine.key_changed': {
    readonly client: number
    readonly hostname: string
    readonly trusted: string
    readonly offered: string
  }
  'machine.rules': { readonly asked: Names }
  'policy.changed': {
    readonly values: Readonly<Record<string, string>>
    /** What they were; absent in a line of an earlier release. */
    readonly before?: Readonly<Record<string, string>>
  }
  'licence.changed': { readonly issued_to: string; readonly expires_at: string | null }
  'licence.removed': Record<never, never>
  'key.made': { readonly algorithm: string; readonly fingerprint: string }
  'key.taken': { readonly algorithm: string; readonly fingerprint: string }
  'webhook.taken': { readonly source: string; readonly event: string; readonly about: string }
  'data.imported': {
    readonly file: string
    readonly sha256: string
    readonly status: string
    readonly generation: number
    readonly forced: boolean
    readonly sources: Names
  }
  'data.refused': { readonly file: string; readonly sha256: string; readonly why: string }
  'feeds.asked': { readonly asked: number; readonly fetched: number; readonly failed: number }
  'sources.synchronised': {
    readonly target: string
    readonly sources: number
    readonly failed: Names
    readonly added: number
    readonly removed: number
  }
  'signatures.updated': {
    readonly status: string
    readonly source: string
    readonly files: number
    readonly reload: string
  }
  'signatures.taken': { readonly status: string; readonly medium: string; readonly files: number }
  'signatures.refused': { readonly why: string }
}

export type FactKind = keyof FactsOf
export type AuditFacts = { [Kind in FactKind]: { readonly kind: Kind } & FactsOf[Kind] }[FactKind]
