import { Type } from '@sinclair/typebox'
import { pageSchema, pagingQuery, Term } from '../../catalog/schemas.ts'
import { contract } from '../../core/contract.ts'
import { SEVERITIES } from '../../core/findings.ts'
import { listed, OrNull, Text, Time } from '../../core/schemas.ts'
import type { Rules } from '../../inventory/compliance.ts'
import { ABSENT, ADMIN, AUDITED, ClientId, EXPORTS, MachineId } from './row-parts.ts'
import {
  CHECK_STATUSES,
  Checks,
  ComplianceRow,
  Counts,
  CveRow,
  InstalledPackage,
  REBOOTS,
  ScanRow,
  Update,
  UPDATE_STATES,
  type ComplianceView,
  type CveView,
  type PackageView,
  type ScanView,
  type UpdateView,
} from './views.ts'

const Days = OrNull(Type.Integer({ minimum: 0, maximum: 3_650 }))
const RuleSet = Type.Unsafe<Rules>(
  Type.Object({
    finding_days: Type.Object({ critical: Days, high: Days, medium: Days, low: Days }),
    supported_release: Type.Boolean(),
    no_reboot_pending: Type.Boolean(),
    seen_within_days: OrNull(Type.Integer({ minimum: 1, maximum: 3_650 })),
    update_days: Days,
  }),
)

/** What machines run, what is newer here, what is wrong with it. */
export const inventory = contract({
  'GET /inventory/summary': {
    ...AUDITED,
    summary: 'Counts machines: by system, restart, findings, compliance, and those that were not seen for a while.',
    reply: Type.Object({
      clients: Type.Integer(),
      enabled: Type.Integer(),
      by_system: Type.Array(Type.Object({ system: Text, clients: Type.Integer() })),
      by_label: Type.Array(Type.Object({ label: Text, clients: Type.Integer() })),
      reboot_needed: Type.Integer(),
      not_seen: Type.Integer({ description: 'For `not_seen_days`, or never.' }),
      not_seen_days: Type.Integer(),
      never_seen: Type.Integer(),
      failed: Type.Integer({ description: 'Whose last scan failed.' }),
      key_changed: Type.Integer(),
      behind: Type.Integer({ description: 'That something newer is here for.' }),
      findings: Counts,
      with_findings: Counts,
      findings_unknown: Type.Integer({ description: 'Of whose findings nothing is known.' }),
      closable_critical: Type.Integer({ description: 'With a critical finding that an update here closes.' }),
      compliance: Checks,
      last_seen: OrNull(Time),
    }),
  },
  'GET /inventory/clients/{id}/packages': {
    ...AUDITED,
    summary: 'Lists the packages of a machine by name.',
    params: ClientId,
    query: Type.Object({ ...pagingQuery(1_000), q: Type.Optional(Term) }),
    reply: pageSchema<PackageView>(InstalledPackage),
    fails: ABSENT,
  },
  'GET /inventory/clients/{id}/updates': {
    ...AUDITED,
    summary: 'Lists what is newer than what a machine has: served here, held for review, or known from advisories.',
    params: ClientId,
    query: Type.Object({
      ...pagingQuery(1_000),
      q: Type.Optional(Term),
      state: Type.Optional(listed(UPDATE_STATES)),
    }),
    reply: pageSchema<UpdateView>(Update),
    fails: ABSENT,
  },
  'GET /inventory/clients/{id}/summary': {
    ...AUDITED,
    summary: 'Sums up a machine: updates, what they close, findings and compliance.',
    params: ClientId,
    reply: Type.Object({
      client_id: Type.Integer(),
      hostname: Text,
      packages: OrNull(Type.Integer()),
      updates: OrNull(Type.Object({ here: Type.Integer(), in_review: Type.Integer(), not_here: Type.Integer() })),
      closes: Counts,
      findings: OrNull(Counts),
      coverage: Text,
      coverage_said: Text,
      compliance: Checks,
      reboot: listed(REBOOTS),
      last_seen: OrNull(Time),
      command: OrNull(Type.String({ description: 'What installs the updates there; the service never runs it.' })),
    }),
    fails: ABSENT,
  },
  'GET /inventory/clients/{id}/history': {
    ...AUDITED,
    summary: 'Lists the scans and reports of a machine, newest first, with the packages that came, went and changed.',
    params: ClientId,
    query: Type.Object(pagingQuery(200)),
    reply: pageSchema<ScanView>(ScanRow),
    fails: ABSENT,
  },
  'POST /inventory/clients/{id}/scan': {
    summary: 'Asks a machine over SSH, as a job. While it is being asked, the answer names the job that goes on.',
    access: 'maintainer+',
    edition: 'The inventory',
    params: ClientId,
    limit: { bucket: 'inventory-scan', perMinute: 60 },
    reply: Type.Object({ job_id: Text, is_new: Type.Boolean(), status: Text, message: Text }),
    fails: [...ABSENT, 'inventory_not_by_ssh', 'inventory_disabled'],
  },
  'GET /inventory/clients/{id}/scan/status': {
    ...AUDITED,
    summary: 'Tells whether a machine is being asked now, and how the last time went.',
    params: ClientId,
    reply: Type.Object({
      client_id: Type.Integer(),
      running: Type.Boolean(),
      job_id: OrNull(Text),
      status: Type.String({ enum: ['never', 'queued', 'running', 'ok', 'error'] }),
      last_scan: OrNull(Time),
      last_error: OrNull(Text),
      last_error_code: OrNull(Text),
    }),
    fails: ABSENT,
  },
  'GET /inventory/scans': {
    ...AUDITED,
    summary: 'Lists scans and reports of all machines, newest first.',
    query: Type.Object({
      ...pagingQuery(200),
      client_id: Type.Optional(MachineId),
      status: Type.Optional(listed(['ok', 'error'])),
    }),
    reply: pageSchema<ScanView>(ScanRow),
  },
  'GET /inventory/cve': {
    ...AUDITED,
    summary: 'Lists vulnerabilities of machines, worst first: one row for each machine and package.',
    query: Type.Object({
      ...pagingQuery(500),
      q: Type.Optional(Term),
      client_id: Type.Optional(MachineId),
      severity: Type.Optional(listed(SEVERITIES)),
      kev: Type.Optional(Type.Boolean()),
      fixable: Type.Optional(Type.Boolean()),
    }),
    reply: pageSchema<CveView>(CveRow),
  },
  'GET /inventory/compliance': {
    ...AUDITED,
    summary: 'Lists what the rules say of machines: kept, broken, or not known, with the reason and what to do.',
    query: Type.Object({
      ...pagingQuery(500),
      client_id: Type.Optional(MachineId),
      status: Type.Optional(listed(CHECK_STATUSES)),
      check_id: Type.Optional(Type.String({ maxLength: 60 })),
    }),
    reply: pageSchema<ComplianceView>(ComplianceRow),
  },
  'GET /inventory/compliance/rules': {
    ...AUDITED,
    summary: 'Shows the rules that machines are held to; null or false: not asked.',
    reply: RuleSet,
  },
  'PUT /inventory/compliance/rules': {
    ...ADMIN,
    summary: 'Replaces the rules that machines are held to. They hold at once.',
    body: RuleSet,
    reply: RuleSet,
  },
  'GET /inventory/ssh-key': {
    ...ADMIN,
    summary: 'Shows the public key that this service logs in with, made at the first request: for authorized_keys.',
    reply: Type.Object({ public_key: Text, fingerprint: Text, command: Text }),
  },
  'GET /inventory/export': {
    ...AUDITED,
    summary: 'Exports machines, their packages, findings or compliance as CSV or as one JSON list.',
    query: Type.Object({
      what: listed(EXPORTS),
      format: Type.Optional(listed(['csv', 'json'])),
      client_id: Type.Optional(MachineId),
    }),
    reply: 'file',
    types: ['text/csv', 'application/json'],
    fails: ABSENT,
  },
  'GET /inventory/agent.sh': {
    summary: 'Gives the script by which a machine reports itself. It holds no secret.',
    access: 'public',
    edition: 'The inventory',
    limit: { bucket: 'inventory-agent', perMinute: 60 },
    reply: 'file',
    types: ['text/x-shellscript'],
  },
  'POST /inventory/report': {
    summary: "Takes a machine's report of itself, in the script's own text; the credential is that machine's token.",
    access: 'public',
    edition: 'The inventory',
    foreign: true,
    limit: { bucket: 'inventory-report', perMinute: 600 },
    reply: Type.Object({ client_id: Type.Integer(), packages: Type.Integer(), message: Text }),
    fails: ['not_authenticated', 'bad_credential', 'body_too_large', 'inventory_bad_report', 'inventory_disabled'],
  },
})
