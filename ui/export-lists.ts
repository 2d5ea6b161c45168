/* @wc-ignore-file */
import type { Reply, ReviewItem, Vulnerability } from './wire.ts'

/** The fields of a row as a table names them: those of an object within it are `sla.due_at`. */
type TitleOf<Row> = {
  [Key in keyof Row & string]-?: NonNullable<Row[Key]> extends infer Value
    ? [Value] extends [never] | [readonly unknown[]]
      ? Key
      : [Value] extends [object]
        ? [keyof Value] extends [never]
          ? Key
          : `${Key}.${TitleOf<Value>}`
        : Key
    : never
}[keyof Row & string]
type WordOf<Text> = Text extends `${infer Word} ${infer Rest}` ? Word | WordOf<Rest> : Text

/** Titles with a blank between them; the compiler knows the fields of a row. */
const of =
  <Row>() =>
  <Text extends string>(titles: WordOf<Text> extends TitleOf<Row> ? Text : TitleOf<Row>): readonly string[] =>
    titles.split(' ')

/** A file on its way, as its list is exported. */
export interface UploadRow {
  readonly file: string
  readonly size: number
  readonly distribution: string
  readonly component: string
  readonly state: string
  readonly name: string | null
  readonly version: string | null
  readonly arch: string | null
  readonly problem: string | null
  readonly finished_at: string | null
}

/**
 * The lists that can be had as a file, under the name that the file has, and the titles that its table has also
 * without a row.
 */
export const EXPORT_LISTS = {
  'packages': of<Reply<'GET /packages/'>['items'][number]>()(
    'name version arch distribution format kind status cve_status severity findings warned scanned mark.kind mark.reason filename size sha256 summary uploaded_by source created_at updated_at',
  ),
  'distributions': of<Reply<'GET /distributions/'>['distributions'][number]>()(
    'codename format label name full_name os badge color package_count component architectures components suite origin end_of_life retired builtin based_on scanner description initialized active publishable packages pending quarantined generation published_at client_line setup',
  ),
  'registries': of<Reply<'GET /registries/'>['registries'][number]>()(
    'name format kind label path url private retired active snapshots_kept packages versions held files bytes',
  ),
  'registry-packages': of<Reply<'GET /registries/{name}/packages'>['packages'][number]>()(
    'name versions published held files bytes changed_at newest tags',
  ),
  'hidden-versions': of<Reply<'GET /registries/{name}/hidden'>['hidden'][number]>()(
    'package version arch because said published_at seen_at ripe_at status waiver.reason waiver.by waiver.expires_at',
  ),
  'waivers': of<Reply<'GET /registries/{name}/waivers'>['waivers'][number]>()(
    'package version reason by at expires_at expired',
  ),
  'asked-names': of<Reply<'GET /registries/{name}/asked'>['asked'][number]>()(
    'package outcome versions checked_at tried_at said looks_like.name looks_like.registry',
  ),
  'publications': of<Reply<'GET /distributions/{codename}/generations'>['generations'][number]>()(
    'n at packages bytes live from address',
  ),
  'documents': of<Reply<'GET /distributions/{codename}/documents'>['documents'][number]>()(
    'kind component arch name sha256 size entries by at',
  ),
  'downloads': of<Reply<'GET /downloads/stats'>['per_version'][number]>()(
    'name version distribution format downloads bytes clients',
  ),
  'never-fetched': of<Reply<'GET /downloads/stats'>['never_fetched']['items'][number]>()(
    'distribution format name version arch size served_since',
  ),
  'import-groups': of<Reply<'GET /import/groups'>['groups'][number]>()(
    'name distribution asked created_by imported_at package_count total_size_bytes packages',
  ),
  'import-keys': of<Reply<'GET /import/keys'>['keys'][number]>()(
    'name kind label public_key expires_at accepted_until builtin added_by added_at sources',
  ),
  'import-sources': of<Reply<'GET /import/sync-status'>['sources'][number]>()(
    'id source_id label format distro arch component security enabled retired codenames last_sync pkg_count status error state last_attempt failures upstream_date valid_until signed_by mirror added removed bytes notes',
  ),
  'mirrors': of<Reply<'GET /import/mirror/sources'>['sources'][number]>()(
    'id label format enabled available distributions rule.names rule.sections rule.priorities rule.newest rule.security_only rule.distributions last_job.job_id last_job.label last_job.status last_job.total last_job.source_id last_job.distribution last_job.done_count last_job.added_count last_job.pending_count last_job.blocked_count last_job.skipped_count last_job.error_count last_job.started_at last_job.finished_at last_job.log_count last_job.cancelling last_job.error',
  ),
  'mirror-distributions': of<Reply<'GET /import/mirror/distributions'>['distributions'][number]>()(
    'codename sources frozen.reason frozen.frozen_by frozen.frozen_at',
  ),
  'security-runs': of<Reply<'GET /import/security-updates/runs'>['runs'][number]>()(
    'job_id by started_at ended_at end result message distributions came_count held_count missing_count bytes',
  ),
  'bundles-made': of<Reply<'GET /bundles'>['bundles'][number]>()(
    'id site number name file_name based_on.kind based_on.number based_on.receipt based_on.since based_on.partial packages data size sha256 distributions made_by made_at standing receipt.taken_at receipt.receipt_at receipt.packages receipt.published receipt.already receipt.held receipt.refused receipt.upstream_changed receipt.waits receipt.missing receipt.not_published',
  ),
  'bundles-taken': of<Reply<'GET /bundles'>['imports'][number]>()(
    'id sender_id sender number name sha256 state why packages size published already held refused upstream_changed waits missing not_published data made_at job_id taken_by started_at ended_at',
  ),
  'jobs': of<Reply<'GET /jobs'>['items'][number]>()(
    'job_id kind label target status asked_by request_id asked_at started_at finished_at done_count total bytes total_bytes items_per_second bytes_per_second remaining_seconds cancelling cancelled_by may_cancel log_count result error.code error.message',
  ),
  'scheduled-jobs': of<Reply<'GET /schedule'>['jobs'][number]>()(
    'id name next_run last.due_at last.ran_at last.took_ms last.error',
  ),
  'backups': of<Reply<'GET /backup/'>['backups'][number]>()(
    'file_name place address size created_at encrypted packages made_by proved_at proof_failed',
  ),
  'backup-targets': of<Reply<'GET /backup/'>['targets'][number]>()('place address tried_at done_at trouble warning'),
  'log': of<Reply<'GET /logs'>['entries'][number]>()('ts level name message service log_type request_id'),
  'decisions': of<Reply<'GET /security/decisions'>['items'][number]>()(
    'name version arch distribution format decision action justification comment cve decided_by decided_at expires_at expired due_at id package status expires_in_days target_version cve_ids assigned_to assigned_to_type assigned_at resolved_at resolved_by resolution_note sla.due_at sla.days_remaining sla.breached sla.has_sla sla.expires_at sla.remaining_days sla.expired sla.warning',
  ),
  'users': of<Reply<'GET /auth/users'>['users'][number]>()(
    'id username role roles full_name email active created_at last_login locked_until mfa_enabled origin auth_source',
  ),
  'tokens': of<Reply<'GET /auth/api-tokens'>['tokens'][number]>()(
    'id name role roles created_by created_at expires_at last_used_at expired expires_soon scopes.distributions scopes.upload_only scopes.uploads_per_minute',
  ),
  'groups': of<Reply<'GET /access/groups'>['groups'][number]>()('name members'),
  'uploader-keys': of<Reply<'GET /uploader-keys'>['keys'][number]>()(
    'name fingerprint user_ids algorithm created_at expires_at distributions added_by added_at',
  ),
  'image-keys': of<Reply<'GET /image-keys'>['keys'][number]>()(
    'name fingerprint algorithm registries added_by added_at',
  ),
  'sessions': of<Reply<'GET /auth/sessions'>['sessions'][number]>()(
    'id opened_at last_seen_at expires_at how ip user_agent current',
  ),
  'review-queue': of<ReviewItem>()(
    'name version distribution arch format package severity findings open_findings epss kev scanned fixable cves reasons held_at sla.due_at assigned_to uploaded_by source summary sha256 size created_at updated_at',
  ),
  'vulnerabilities': of<Vulnerability>()(
    'id cve_id severity epss kev fixable summary aliases detected_by fixed_versions package_count published_count open_count first_seen packages',
  ),
  'vulnerable-packages': of<ReviewItem>()(
    'name version distribution arch format package severity findings open_findings epss kev scanned fixable cves reasons held_at sla.due_at assigned_to uploaded_by source summary sha256 size created_at updated_at',
  ),
  'import-search': 'name version arch source size security module isOlder summary'.split(' '),
  'compare': 'name before after kind change what differs sha256_before sha256_after unread'.split(' '),
  'uploads': of<UploadRow>()('file size distribution component state name version arch problem finished_at'),
} as const
export type ExportList = keyof typeof EXPORT_LISTS
