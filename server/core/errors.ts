import { BUNDLE_ERRORS } from './bundle-errors.ts'
import { IMPORT_ERRORS } from './import-errors.ts'
import { KEY_ERRORS } from './key-errors.ts'
import { MACHINE_ERRORS } from './machine-errors.ts'
import { REGISTRY_ERRORS } from './registry-errors.ts'
import { REVIEW_ERRORS } from './review-errors.ts'

/**
 * Every way a request can be refused: code → [status, message]. `{placeholders}` are filled from the facts, and the
 * compiler knows which facts a code needs. Only `http/problem.ts` reads the status.
 * A message names the thing, the rule and the way out, in that order.
 */
export const ERRORS = {
  // the request itself
  bad_request: [400, '{said}'],
  bad_path: [400, 'The path {path} is not allowed: it must be relative and stay inside its folder.'],
  bad_digest: [400, '{digest} is not a SHA-256 digest: 64 hex characters are needed.'],
  not_authenticated: [401, 'This needs a credential. Send Authorization: Bearer with an access token or an API token.'],
  private_tree: [401, 'This repository is private. Send an API token that may read it as the password of HTTP Basic.'],
  bad_credential: [
    401,
    'The credential is invalid, expired or revoked. Log in again, or ask an admin for a new token.',
  ],
  // one answer for unknown, wrong and locked: it must not reveal which accounts exist
  bad_password: [
    401,
    'User name or password is wrong, or the account is locked: 5 wrong passwords lock it for 15 minutes.',
  ],
  account_inactive: [401, 'This account is deactivated. An admin can activate it again.'],
  forbidden: [403, 'This needs {needs}. You are {role}.'],
  outside_scope: [
    403,
    'This API token is limited to {limits}, and this reaches further. Use a token without that limit, or log in.',
  ],
  outside_distribution: [
    403,
    'This API token may not touch {codename}; it is limited to {allowed}. Use a token for {codename}.',
  ],
  bad_setup_token: [
    403,
    'The setup token is missing or is not the SETUP_TOKEN of this deployment. Whoever deployed it knows it; scripts send it as X-Setup-Token.',
  ],
  not_found: [404, 'There is nothing at {path}.'],
  method_not_allowed: [405, '{method} is not possible here. Possible: {allowed}.'],
  body_too_large: [413, 'The request body is larger than {limit_kb} KB.'],
  rate_limited: [429, 'More than {limit} requests a minute. Go on in {retry_after} s.'],
  internal: [500, 'Internal server error'],
  starting: [
    503,
    'The service is starting: {doing}. Try again in a few seconds. Clients get their packages meanwhile.',
  ],
  maintenance: [
    503,
    'The service is in maintenance: {doing}. Try again in a few seconds. Clients get their packages meanwhile.',
  ],
  database_gone: [503, 'The database does not answer. Try again in a moment.'],
  disk_full: [
    507,
    'There is no room left on the disk, so this could not be done. An admin has to free space under /repos; then try again.',
  ],
  disk_read_only: [
    503,
    'The disk cannot be written to, so this could not be done. An admin has to check the disk under /repos; then try again.',
  ],
  too_many_files: [
    503,
    'Too many files and connections are open, so this could not be done. Try again in a moment; an admin can raise the limit with ulimit -n.',
  ],
  not_ready: [503, 'The service is not ready: {why}.'],
  // editions
  enterprise_only: [402, '{feature} is part of the enterprise edition. Everything else goes on working.'],
  bad_license: [
    422,
    'The key is no licence of this vendor: it is incomplete, changed, or issued for another LICENSE_VENDOR_SECRET.',
  ],
  group_not_found: [404, 'There is no group {name}.'],
  rule_is_open: [409, 'Everybody sees {codename}; a name would close it to others. Set the rule of {codename} itself.'],
  rule_would_open: [409, 'The rule of {codename} has no name but {username}: everybody would see it. Set that rule.'],
  group_in_use: [409, 'The group {name} is named by the rule of {codename}. Change that first.'],
  // accounts
  admin_exists: [409, 'An admin exists already, so the setup is closed. Log in as that admin to create more users.'],
  user_exists: [409, 'The user {username} exists already.'],
  user_not_found: [404, 'There is no user {username}.'],
  token_not_found: [404, 'There is no API token {token_id}.'],
  weak_password: [422, 'The password is too weak: {why}.'],
  wrong_current_password: [
    400,
    'The current password is wrong, or the account is locked: 5 wrong passwords lock it for 15 minutes.',
  ],
  missing_role: [422, 'The field role is missing. It is one of {roles}.'],
  no_password: [400, 'An API token has no password. Log in as a user to change one.'],
  own_role: [400, 'You cannot change your own role. Ask another admin.'],
  own_account: [400, 'You cannot delete or deactivate your own account. Ask another admin.'],
  last_admin: [400, 'This is the last active admin. Make another user an admin first.'],
  no_account: [
    400,
    'An API token has no account, so it has no second factor, sessions or saved filters. Log in as a user.',
  ],
  no_local_password: [400, 'The password of {username} is kept in the directory. Change it there.'],
  wrong_password: [
    400,
    'The password is wrong, or the account is locked: 5 wrong passwords or codes lock it for 15 minutes.',
  ],
  bad_code: [
    401,
    'The code is wrong or was used before, or the account is locked: 5 wrong codes lock it for 15 minutes. Wait for the next code and check the clock of your device.',
  ],
  bad_challenge: [
    401,
    'This step of the login has ended: it works once and for 5 minutes. Log in with the password again.',
  ],
  wrong_code: [
    400,
    'The code does not match the new secret. Wait for the next code and check the clock of your device.',
  ],
  missing_code: [422, 'Send either totp_code or recovery_code.'],
  mfa_active: [409, 'The second factor is active already. Switch it off in your profile first.'],
  mfa_not_active: [409, 'There is no second factor on this account. Set one up in your profile.'],
  mfa_not_pending: [409, 'There is no new secret to confirm. Begin again in your profile.'],
  own_mfa: [
    400,
    'You cannot reset your own second factor. Switch it off in your profile with your password, or ask another admin.',
  ],
  filter_not_found: [404, 'You have no saved filter {filter_id}. It may have been removed in another window.'],
  filter_exists: [409, 'You have a filter {name} on this list already. Choose another name, or change that one.'],
  too_many_filters: [409, 'You have {most} saved filters, the most that one person can. Remove one of them first.'],
  user_session_not_found: [404, 'The user {username} has no session {session_id}.'],
  session_not_found: [404, 'You have no session {session_id}.'],
  bad_reset_token: [
    400,
    'This reset link is used, replaced by a newer one or older than 30 minutes. Ask for a new one.',
  ],
  role_above_own: [403, 'You are {own}, so you cannot make an API token with the role {role}.'],
  useless_scope: [
    422,
    'upload_only needs a role that may upload: uploader, maintainer or admin. This token is {role}.',
  ],
  directory_unavailable: [
    503,
    'The directory does not answer, so only local accounts can log in now. Try again later.',
  ],
  // settings and keys
  unknown_setting: [422, 'There is no setting {key}; {known}.'],
  bad_setting: [422, '{key}: {why}.'],
  setting_not_available: [422, '{key} cannot be changed: {why}. Leave it out, or send the value that it has.'],
  policy_contradiction: [
    409,
    'The policy would treat {worse} more mildly than {lesser}: {action} and {lesser_action}. Set {worse} to {lesser_action}, or send confirm=true when it is meant so.',
  ],
  ...KEY_ERRORS,
  ...MACHINE_ERRORS,
  // distributions and packages
  unknown_distribution: [422, 'There is no distribution {codename}. There are: {known}.'],
  distribution_not_found: [404, 'There is no distribution {codename}.'],
  bad_distribution: [422, '{field}: {why}.'],
  distribution_exists: [409, 'There is a distribution {codename} already. Choose another codename.'],
  distribution_builtin: [409, '{codename} belongs to the default set and cannot be removed. Retire it instead.'],
  distribution_in_use: [409, '{codename} still has packages: {held}. Delete them first, or retire the distribution.'],
  distribution_retired: [
    409,
    '{codename} is retired: it is still served, but takes no packages. An admin can reactivate it.',
  ],
  bad_component: [422, '{codename} has no component {component}. There are: {known}.'],
  wrong_format: [422, '{codename} takes {takes}, this is {is}. Choose a distribution that takes {is}: {others}.'],
  wrong_arch: [422, '{codename} takes the architectures {takes}, this package is built for {is}.'],
  format_not_active: [422, '{format} packages are switched off here. Set REPO_FORMAT to {how} and start again.'],
  not_publishable: [422, 'The tree of {codename} is not written by this release. Choose one of: {publishable}.'],
  not_promotable: [409, '{ref} is {state}: only what is published can be promoted. Have it decided first.'],
  other_format: [422, '{to} takes {takes} packages, {from} has {has} packages: they cannot go there.'],
  same_distribution: [422, 'Source and target are both {codename}. Name two distributions.'],
  missing_property: [422, 'The property {property} is missing.'],
  two_answers: [422, '{field} says {said}, {other} says {other_said}. Send one of the two.'],
  no_retention_rule: [
    409,
    '{codename} keeps all versions. Set how many it keeps on the page Distributions, or say it with keep.',
  ],
  unknown_document: [422, '{codename} takes no document of the kind {kind}. Choose one of: {known}.'],
  bad_document: [422, 'The document {kind} is refused: {why}. The one before, if any, is still served.'],
  documents_full: [
    413,
    '{codename} would have more than {documents} documents, or {mb} MB of them. Remove what it does not need first.',
  ],
  document_not_found: [
    404,
    '{codename} has no {kind} document with this key. The list of its documents says what it has.',
  ],
  no_release_words: [
    422,
    '{codename} holds {format} packages: their clients read no Release file. Set this on a .deb distribution.',
  ],
  bad_release_words: [422, '{codename}: apt ignores but_automatic_upgrades without not_automatic. Set both.'],
  pin_not_found: [404, '{name} {version} is not pinned in {codename}.'],
  generation_not_kept: [404, 'Generation {generation} of {codename} is not kept. Kept: {kept}.'],
  unknown_format: [422, '{filename} is no package: it is neither {formats} by its first bytes.'],
  unknown_field: [422, 'There is no form field {field} here. There are: {known}.'],
  missing_field: [422, 'The form field {field} is missing.'],
  no_sample: [422, 'This release makes no package to try {codename} with. Upload one of your own.'],
  sample_after_restore: [
    409,
    'A backup was restored here, and clients get what it served: no package is made to try the way. Upload one of your own.',
  ],
  bad_package: [422, '{filename} is refused: {why}.'],
  unpacking_full: [
    503,
    'The package was not looked at: {waiting} packages of its size are waiting to be unpacked already. Nothing was kept; send it again in {retry_after} s.',
  ],
  upload_too_large: [413, 'The file is larger than {limit_mb} MB. {remedy}'],
  bad_archive: [422, 'The archive is refused: {why}. Nothing of it is taken but the files that this answer names.'],
  bad_member: [422, '{filename} is not taken: {why}.'],
  batch_full: [413, 'One request has at most {most} files. Send the others in another one.'],
  upload_incomplete: [400, 'The upload ended before the file was whole. Nothing of this file was kept; send it again.'],
  storage_full: [
    507,
    'There is no room left on the disk for this file. Nothing was kept. An admin has to free space under /repos.',
  ],
  uploads_stopped: [
    507,
    'Nothing is taken in: {free_gb} GB are free on the disk of /repos, and below {least_gb} GB uploads are refused (disk.min_free_disk_gb). Nothing was kept. {remedy}',
  ],
  no_reserve: [409, 'There is no reserve that could be given back. {why}'],
  digest_mismatch: [422, 'The file has SHA-256 {actual}, the sender said {expected}. Nothing was kept; send it again.'],
  duplicate_conflict: [
    409,
    '{ref} exists with other bytes. A version is never replaced: raise the version, or delete the old one first.',
  ],
  announcement_unsigned: [422, '{filename} is not signed. Sign it with debsign and send it again.'],
  announcement_untrusted: [
    403,
    'The signature of {filename} is not accepted: {why}. An admin can add the key on the page Users and tokens.',
  ],
  announcement_misdirected: [
    422,
    '{filename} is for {target}, but was sent to {codename}. Send it to {target}, or build it for {codename}.',
  ],
  announcement_incomplete: [
    422,
    '{filename} needs {missing}, which did not arrive. Send all files, and {filename} last.',
  ],
  announcement_refused: [422, '{filename}: {said}. Of {of} packages {taken} were taken.'],
  key_not_for: [403, 'The key {key} may upload to {allowed}, not to {codename}. An admin can add it for {codename}.'],
  no_developer_uploads: [
    422,
    '{codename} takes no .changes. Upload its packages themselves, one by one or many at once.',
  ],
  incoming_full: [
    413,
    'The files of {whose} that wait for their .changes would be more than {most}. Send the .changes, or wait six hours.',
  ],
  file_conflict: [
    409,
    'The file {path} exists with other bytes in {ref}. A file is never replaced: raise the upstream version.',
  ],
  backup_no_room: [
    507,
    'The backup needs {needs_mb} MB, and {free_mb} MB are free where backups are kept. Make room, or remove older backups.',
  ],
  console_release_not_found: [404, 'No version of the desktop program that lies here names a file {file_name}.'],
  backup_not_found: [404, 'There is no backup {file_name}.'],
  backup_refused: [422, '{why}'],
  backup_nowhere: [422, 'No place for backups is set. Switch on backup.to_folder, or name a target, in the settings.'],
  backup_no_target: [404, 'The settings name no target of the kind {place}. Fill in {settings} first.'],
  backup_target_failed: [502, '{why}'],
  backup_in_pieces: [
    409,
    '{file_name} is no single file: its files lie on {address}, each once. To restore it, run {command}',
  ],
  // machines
  inventory_client_not_found: [404, 'There is no machine {id}.'],
  inventory_client_exists: [409, 'The machine {hostname}, port {port}, is registered already.'],
  inventory_not_by_agent: [
    409,
    '{hostname} is asked over SSH, so it needs no token. Register it as one that reports itself.',
  ],
  inventory_not_by_ssh: [409, '{hostname} reports itself, so it cannot be asked. It reports again within six hours.'],
  inventory_disabled: [409, '{hostname} is switched off here. An admin can switch it on again.'],
  inventory_not_offered: [
    409,
    'The key {fingerprint} is not the one that {hostname} showed last. Look at the machine again, and compare.',
  ],
  inventory_bad_report: [422, 'The report is refused: {why}. What was known before is still there.'],
  inventory_unreachable: [502, '{hostname} cannot be reached at {address}: {why}. Look at its address and port.'],
  inventory_login_refused: [
    502,
    '{hostname} does not let {user} in: {why}. Put the public key of this service into authorized_keys there.',
  ],
  inventory_timeout: [504, '{hostname} did not answer within {seconds} s. Look whether it hangs, then ask again.'],
  inventory_scan_failed: [502, '{hostname} was asked and answered nothing of use: {why}.'],
  inventory_host_key_changed: [
    409,
    '{hostname} shows another host key, {offered}; trusted is {trusted}. Nothing was sent to it. An admin compares them at the machine and resets the key.',
  ],
  nothing_to_undo: [409, 'There is nothing to go back to: no backup was restored here in the last seven days.'],
  restore_under_way: [
    409,
    'Another restore, or the undoing of one, is under way or was just decided. Nothing was changed by this request. Wait until it is done, or cancel its job, then look at what is here.',
  ],
  audit_not_whole: [
    409,
    'No audit file was removed: the log was changed at {file}, line {line} ({why}), and that is evidence. Look into it and export the log; then an admin can run retention with accept_broken, which the log records.',
  ],
  job_not_found: [404, 'There is no job {id}.'],
  job_not_yours: [403, 'Job {id} was asked for by {owner}. Ask them, or a maintainer, to cancel it.'],
  clock_job_not_found: [404, 'The clock has no daily job {id}. The page Jobs and the schedule list them.'],
  passive_replica: [
    503,
    'This replica does not lead, and only the leader does this. Send the request again; the health report says which one leads.',
  ],
  job_cancelled: [409, 'The work was cancelled. What it had done until then stays; ask for it again to go on.'],
  job_gave_up: [
    500,
    'The job stopped the service or its database {times} times without getting any further. The log says what happened; then ask for it again.',
  ],
  job_failed: [500, 'Something inside failed: the log says what, in the line about job {id}. Then ask for it again.'],
  package_not_found: [404, 'There is no package {name}.'],
  version_not_found: [404, 'There is no version {version} of {name}.'],
  tag_not_found: [404, 'There is no tag {tag} of {name} in {codename}.'],
  not_possible: [409, 'A package that is {state} cannot be given {event}. Possible: {possible}.'],
  ambiguous_version: [409, '{name} {version} exists more than once ({where}). Say which is meant: {how}.'],
  files_not_at_hand: [
    409,
    'The files of {name} {version} cannot be compared: it is {state}, and what is refused does not lie in the pool. What is recorded of it can be compared.',
  ],
  // outgoing requests
  outbound_refused: [
    422,
    'No request is sent to {host}: {why}. An admin can allow hosts of the private network with notifications.allow_private_hosts.',
  ],
  outbound_failed: [502, '{host} gave no usable answer: {why}.'],
  webhook_not_configured: [422, 'There is no address to send to. An admin sets notifications.webhook_url.'],
  webhook_failed: [502, '{host} did not take the message: it answered {said}.'],
  ldap_failed: [502, 'The directory {server} cannot be used: {why}.'],
  oidc_failed: [502, 'The provider {issuer} cannot be used: {why}.'],
  sso_off: [404, 'Single sign-on is switched off. An admin switches it on with oidc.enabled.'],
  sso_expired: [
    401,
    'This login has ended: it works once, in the browser that began it, until a minute after the return. Log in again.',
  ],
  sso_refused: [401, 'There is no account for this person here, or it belongs to another person. An admin can help.'],
  bad_signature: [
    401,
    'The signature is missing or wrong. Sign the body with HMAC-SHA-256 under WEBHOOK_SECRET and send X-Hub-Signature-256: sha256=<hex>.',
  ],
  mail_not_configured: [422, 'No mail can be sent: {why}. An admin sets it in the settings section email.'],
  mail_failed: [502, 'The mail server {server} did not take the mail: {why}.'],
  ...BUNDLE_ERRORS,
  // review
  ...REVIEW_ERRORS,
  ...REGISTRY_ERRORS,
  bad_vex: [422, 'The VEX document is refused: {why}. Nothing was changed.'],
  vex_not_found: [404, '{name} {version} has no VEX document {sha256}. The list of its documents names them.'],
  cve_not_found: [404, 'No package here has {cve}.'],
  bad_assignee: [422, '{username} cannot take a review: {why}.'],
  signatures_not_updated: [502, 'The antivirus signatures were not updated: {why}.'],
  // engines
  engine_unavailable: [503, '{engine} does not answer: {why}.'],
  bad_database: [422, 'The vulnerability data are refused: {why}. What was loaded before is still there.'],
  older_database: [
    409,
    'The vulnerability data are older than what is loaded: {why}. Send force=true to load them anyway.',
  ],
  import_running: [409, 'Vulnerability data are being imported already. Wait until that is done.'],
  ...IMPORT_ERRORS,
} as const satisfies Record<string, readonly [number, string]>

export type ErrorCode = keyof typeof ERRORS

type Placeholder<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholder<Rest>
  : never
/** The facts a code's message needs; more are welcome and go out with the answer. */
export type Facts<Code extends ErrorCode> = {
  readonly [Name in Placeholder<(typeof ERRORS)[Code][1]>]: string | number
} & { readonly [more: string]: unknown }

/** A refusal that the caller sees. Any other error is an internal fault and answers 500. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly facts: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, facts: Readonly<Record<string, unknown>>, cause?: unknown) {
    super(
      ERRORS[code][1].replace(/\{(\w+)\}/g, (_, name: string) => String(facts[name])),
      cause === undefined ? {} : { cause },
    )
    this.name = 'AppError'
    this.code = code
    this.facts = facts
  }
}

/** Throws the refusal `code` with its facts. The facts are typed from the message's placeholders. */
export function fail<Code extends ErrorCode>(code: Code, facts: Facts<Code>, cause?: unknown): never {
  throw new AppError(code, facts, cause)
}

export function isRefusal<Code extends ErrorCode>(error: unknown, code?: Code): error is AppError {
  return error instanceof AppError && (code === undefined || error.code === code)
}
