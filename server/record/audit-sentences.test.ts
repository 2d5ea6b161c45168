import { expect, test } from 'vitest'
import type { AuditFacts, FactKind } from './audit-facts.ts'
import { printFacts } from './audit-sentences.ts'

const SHA = '4a'.repeat(32)
/** One example of every kind, and of every way its sentence goes; the compiler asks for a new kind. */
const EXAMPLES: { readonly [Kind in FactKind]: readonly (readonly [Extract<AuditFacts, { kind: Kind }>, string])[] } = {
  'package.admitted': [
    [
      { kind: 'package.admitted', file: 'hello_1.0_amd64.deb', sha256: SHA, state: 'published' },
      `hello_1.0_amd64.deb, SHA-256 ${SHA}: published.`,
    ],
    [
      {
        kind: 'package.admitted',
        file: 'hello.rpm',
        sha256: SHA,
        state: 'pending_review',
        because: ['antivirus', 'vulnerabilities'],
        signed: { key: '92DC44', sha256: SHA },
      },
      `hello.rpm, SHA-256 ${SHA}, signed with 92DC44, now SHA-256 ${SHA}: pending_review, because of antivirus and vulnerabilities.`,
    ],
    [
      {
        kind: 'package.admitted',
        file: 'hello_1.0.dsc',
        sha256: SHA,
        with_files: ['hello_1.0.tar.xz'],
        state: 'published',
      },
      `hello_1.0.dsc, SHA-256 ${SHA}, with hello_1.0.tar.xz: published.`,
    ],
  ],
  'tree.adoption_asked': [
    [
      { kind: 'tree.adoption_asked', path: '/srv/aptly/public', group: 'public', job: '0badcafe' },
      '/srv/aptly/public as public: the job 0badcafe.',
    ],
  ],
  'tree.adopted': [
    [
      {
        kind: 'tree.adopted',
        path: '/srv/aptly/public',
        group: 'public',
        added: 5,
        held: 1,
        blocked: 0,
        skipped: 2,
        failed: 1,
      },
      '/srv/aptly/public as public: 5 added, 1 held, 0 blocked, 2 here already, 1 left out.',
    ],
  ],
  'announcement.refused': [
    [
      { kind: 'announcement.refused', file: 'a.changes', code: 'announcement_unsigned', why: 'a.changes is unsigned.' },
      'a.changes is unsigned.',
    ],
  ],
  'package.copied': [
    [
      { kind: 'package.copied', arch: 'amd64', from_distribution: 'jammy', sha256: SHA },
      `amd64, from jammy: the same bytes, SHA-256 ${SHA}.`,
    ],
  ],
  'package.deleted': [
    [
      { kind: 'package.deleted', arch: 'amd64', from_state: 'published', reason: 'By hand.' },
      'amd64, was published. By hand.',
    ],
    [{ kind: 'package.deleted', arch: 'amd64', from_state: 'rejected', reason: '' }, 'amd64, was rejected.'],
  ],
  'package.decided': [
    [
      {
        kind: 'package.decided',
        from_state: 'pending_review',
        to_state: 'published',
        decisions: [{ decision: 'accept_risk', cve: 'CVE-2026-1', until: '2027-01-01', reason: 'Not reachable' }],
      },
      'accept_risk CVE-2026-1 until 2027-01-01: Not reachable. pending_review → published.',
    ],
    [
      {
        kind: 'package.decided',
        from_state: 'published',
        to_state: 'published',
        decisions: [{ decision: 'approve', reason: 'Looked at!' }],
      },
      'approve: Looked at!',
    ],
  ],
  'package.vex': [
    [
      {
        ...{
          kind: 'package.vex',
          from_state: 'pending_review',
          to_state: 'published',
          act: 'added',
          document: 'VEX-1',
        },
        ...{ author: 'Example Corp', sha256: 'ab', issued: '2026-01-05T00:00:00.000Z', accepted: true },
        ...{ closed: ['CVE-2026-1'], opened: [] },
      },
      'The VEX document VEX-1 of Example Corp was added, SHA-256 ab. It closes CVE-2026-1. pending_review → published.',
    ],
    [
      {
        ...{ kind: 'package.vex', from_state: 'published', to_state: 'published', act: 'added', document: 'VEX-1' },
        ...{ author: 'Example Corp', sha256: 'ab', issued: '2026-01-05T00:00:00.000Z', accepted: false },
        ...{ closed: [], opened: [] },
      },
      'The VEX document VEX-1 of Example Corp was added, SHA-256 ab. Nobody has accepted its word.',
    ],
    [
      {
        ...{ kind: 'package.vex', from_state: 'published', to_state: 'pending_review', act: 'removed' },
        ...{ document: 'VEX-1', author: 'Example Corp', sha256: 'ab', issued: '2026-01-05T00:00:00.000Z' },
        ...{ accepted: true, closed: [], opened: ['CVE-2026-1'] },
      },
      'The VEX document VEX-1 of Example Corp was removed, SHA-256 ab. Open again: CVE-2026-1. published → pending_review.',
    ],
  ],
  'package.assigned': [
    [{ kind: 'package.assigned', to: 'ada' }, 'Assigned to ada.'],
    [{ kind: 'package.assigned' }, 'Assigned to nobody.'],
  ],
  'package.quarantined': [
    [
      { kind: 'package.quarantined', from_state: 'published', to_state: 'quarantined', reason: '' },
      'No reason given. published → quarantined.',
    ],
  ],
  'package.lapsed': [
    [
      {
        kind: 'package.lapsed',
        from_state: 'published',
        to_state: 'pending_review',
        ended: [{ cve: 'CVE-2026-1', by: 'ada', ended_at: '2027-01-01' }],
      },
      'The acceptance of CVE-2026-1 by ada ended at 2027-01-01. published → pending_review.',
    ],
  ],
  'package.rescanned': [
    [
      {
        kind: 'package.rescanned',
        from_state: 'published',
        to_state: 'published',
        message: 'Clean.',
        found: ['CVE-2026-1'],
        lost: ['CVE-2026-2'],
      },
      'Clean. New: CVE-2026-1. No longer found: CVE-2026-2.',
    ],
    [
      {
        kind: 'package.rescanned',
        from_state: 'published',
        to_state: 'published',
        found: Array.from({ length: 22 }, (_, n) => `CVE-${n}`),
        lost: [],
      },
      `New: ${Array.from({ length: 20 }, (_, n) => `CVE-${n}`).join(', ')} and 2 more.`,
    ],
  ],
  'package.held': [
    [
      { kind: 'package.held', from_state: 'published', to_state: 'pending_review', reason: 'Exploited: CVE-2026-1.' },
      'Exploited: CVE-2026-1. published → pending_review.',
    ],
  ],
  'package.tagged': [
    [
      { kind: 'package.tagged', tag: 'latest', from_version: '1.0', to_version: '1.1', reason: 'It is newer.' },
      'The tag latest names 1.1, it named 1.0. It is newer.',
    ],
    [{ kind: 'package.tagged', tag: 'latest', to_version: '1.0' }, 'The tag latest names 1.0.'],
    [{ kind: 'package.tagged', tag: 'latest', from_version: '1.0' }, 'The tag latest named 1.0 and is removed.'],
  ],
  'package.deprecated': [
    [{ kind: 'package.deprecated', reason: 'Use b instead' }, 'Deprecated: Use b instead.'],
    [{ kind: 'package.deprecated' }, 'Deprecated no longer.'],
  ],
  'package.yanked': [
    [{ kind: 'package.yanked', reason: 'It is broken.' }, 'Yanked. It is broken.'],
    [{ kind: 'package.yanked' }, 'Yanked no longer.'],
  ],
  'package.pinned': [[{ kind: 'package.pinned', reason: 'Line 4' }, 'Pinned. Line 4']],
  'package.unpinned': [[{ kind: 'package.unpinned' }, 'The pin was taken away.']],
  'distributions.set_up': [
    [
      { kind: 'distributions.set_up', distributions: ['jammy', 'noble'], made_key: 'AB12' },
      'jammy, noble. Made the signing key AB12.',
    ],
    [
      { kind: 'distributions.set_up', distributions: ['jammy'], by_package: true },
      'jammy. Nobody had set it up: the first package that was published there did.',
    ],
  ],
  'distribution.added': [
    [
      { kind: 'distribution.added', architectures: ['amd64', 'arm64'], components: ['main', 'contrib'] },
      'Added: main contrib for amd64 arm64.',
    ],
  ],
  'distribution.changed': [
    [
      { kind: 'distribution.changed', architectures: ['amd64', 'arm64'], components: ['main', 'contrib'] },
      'Changed: main contrib for amd64 arm64.',
    ],
  ],
  'distribution.retired': [
    [
      { kind: 'distribution.retired', architectures: ['amd64', 'arm64'], components: ['main', 'contrib'] },
      'Retired: main contrib for amd64 arm64.',
    ],
  ],
  'distribution.reactivated': [
    [
      { kind: 'distribution.reactivated', architectures: ['amd64', 'arm64'], components: ['main', 'contrib'] },
      'Reactivated: main contrib for amd64 arm64.',
    ],
  ],
  'distribution.removed': [
    [
      { kind: 'distribution.removed', architectures: ['amd64', 'arm64'], components: ['main', 'contrib'] },
      'Removed: main contrib for amd64 arm64.',
    ],
  ],
  'registry.added': [
    [{ kind: 'registry.added', format: 'npm' }, 'Made a registry of the format npm.'],
    [
      {
        kind: 'registry.added',
        format: 'npm',
        changes: [
          { key: 'upstream.url', from: '(none)', to: 'https://registry.example' },
          { key: 'upstream.secret', from: '(none)', to: '***' },
        ],
      },
      'Made a registry of the format npm. upstream.url: (none) → https://registry.example; upstream.secret: (none) → ***.',
    ],
  ],
  'waiver.given': [
    [
      { kind: 'waiver.given', reason: 'A fix we need.', until: '2026-12-24T10:00:00.000Z' },
      'Let through until 2026-12-24 although it is hidden: A fix we need.',
    ],
  ],
  'waiver.taken': [[{ kind: 'waiver.taken' }, 'No longer let through; what came in meanwhile stays as it is.']],
  'registry.changed': [
    [{ kind: 'registry.changed', label: 'Ours', state: 'active' }, 'Ours: it takes packages.'],
    [{ kind: 'registry.changed', label: 'Ours', state: 'retired' }, 'Ours: it takes no more packages.'],
    [
      {
        ...{ kind: 'registry.changed', label: 'Ours', state: 'active' },
        changes: [{ key: 'min_age_days', from: '(none)', to: '7' }],
      },
      'Ours: it takes packages. min_age_days: (none) → 7.',
    ],
  ],
  'registry.removed': [[{ kind: 'registry.removed', format: 'npm' }, 'Removed the registry of the format npm.']],
  'distribution.rolled_back': [
    [
      { kind: 'distribution.rolled_back', generation: 9, like: 4, reason: 'Broken.' },
      'Generation 9 is what generation 4 was, and stays so. Broken.',
    ],
    [{ kind: 'distribution.rolled_back', generation: 10, reason: '' }, 'Generation 10 follows the packages again.'],
  ],
  'release.changed': [
    [
      { kind: 'release.changed', not_automatic: true, but_automatic_upgrades: false, valid_days: 7 },
      'NotAutomatic is on, ButAutomaticUpgrades off; a root is valid for 7 days.',
    ],
    [
      { kind: 'release.changed', not_automatic: false, but_automatic_upgrades: false, valid_days: 0 },
      'NotAutomatic is off, ButAutomaticUpgrades off; a root is valid for ever.',
    ],
  ],
  'root.signed_again': [
    [
      { kind: 'root.signed_again', generation: 3, until: '2026-11-16T00:00:00.000Z' },
      'The root was signed again, as generation 3; it is valid until 2026-11-16T00:00:00.000Z.',
    ],
    [{ kind: 'root.signed_again', generation: 4 }, 'The root was signed again, as generation 4; it is valid for ever.'],
  ],
  'document.put': [
    [
      { kind: 'document.put', document: 'modules', arch: 'x86_64', sha256: 'ab', size: 12 },
      'modules of x86_64: added or replaced, 12 bytes, SHA-256 ab.',
    ],
  ],
  'document.removed': [
    [
      { kind: 'document.removed', document: 'translation', component: 'main', name: 'de' },
      'translation of main, de was removed.',
    ],
  ],
  'retention.changed': [
    [{ kind: 'retention.changed', keep: 3 }, 'The newest 3 versions are kept.'],
    [{ kind: 'retention.changed', keep: null }, 'All versions are kept.'],
  ],
  'audit.cut': [
    [
      {
        kind: 'audit.cut',
        days: 90,
        files: 2,
        lines: 31,
        bytes: 900,
        first_day: '2026-01-01',
        last_day: '2026-01-02',
        hash: 'ab',
      },
      'Retention removed 2 files of this log with 31 lines, from 2026-01-01 to 2026-01-02: files are kept for 90 days.',
    ],
    [
      {
        kind: 'audit.cut',
        days: 1,
        files: 1,
        lines: 3,
        bytes: 9,
        first_day: '2026-01-01',
        last_day: '2026-01-01',
        hash: 'ab',
        broken: 2,
      },
      'Retention removed 1 file of this log with 3 lines, from 2026-01-01 to 2026-01-01: files are kept for 1 days. They were broken in 2 places, which was accepted.',
    ],
  ],
  'access.changed': [
    [
      { kind: 'access.changed', private: true, roles: ['admin'], usernames: ['ada', 'max'], groups: [] },
      'Only for roles admin; users ada, max; its tree asks for a token.',
    ],
    [{ kind: 'access.changed', private: false, roles: [], usernames: [], groups: [] }, 'Open to everybody.'],
    [
      {
        ...{ kind: 'access.changed', private: false, roles: [], usernames: ['ada'], groups: [] },
        ...{ added: ['user:ada'], removed: ['role:reader', 'group:desk'] },
      },
      'Only for users ada. Added: user ada. Removed: role reader, group desk.',
    ],
  ],
  'group.changed': [
    [{ kind: 'group.changed', group: 'line 4', members: [] }, 'The group line 4 has nobody.'],
    [
      { kind: 'group.changed', group: 'desk', members: ['ada'], added: ['ada'], removed: ['max', 'eve'] },
      'The group desk has ada. Added: ada. Removed: max, eve.',
    ],
  ],
  'group.removed': [[{ kind: 'group.removed', group: 'line 4' }, 'The group line 4 was removed.']],
  'index.rebuilt': [
    [
      { kind: 'index.rebuilt', manifests: 9, added: 1, changed: 2, removed: 3, unreadable: 0 },
      '9 manifests: 1 added, 2 changed, 3 removed, 0 unreadable.',
    ],
  ],
  'login': [
    [{ kind: 'login', how: 'password' }, 'With a password.'],
    [
      { kind: 'login', how: 'password_and_recovery_code', codes_left: 7 },
      'With a password and a recovery code; 7 are left.',
    ],
    [
      { kind: 'login', how: 'password', awaits: 'set_up' },
      'With a password; the second factor has to be set up first.',
    ],
  ],
  'refused': [[{ kind: 'refused', why: 'locked' }, 'The account is locked.']],
  'sso.refused': [[{ kind: 'sso.refused', word: 'state' }, 'Single sign-on: state.']],
  'account.created': [
    [
      { kind: 'account.created', username: 'ada', role: 'admin', by: 'environment' },
      'ada, the first admin, from the environment.',
    ],
    [
      { kind: 'account.created', username: 'ada', role: 'auditor', by: 'ldap' },
      'ada, auditor, at the first login from ldap.',
    ],
  ],
  'account.changed': [
    [{ kind: 'account.changed', username: 'ada', fields: ['full_name', 'email'] }, 'ada: full_name, email.'],
    // lines of releases before 0.2
    [{ kind: 'account.changed', username: 'ada', fields: [] }, 'ada: nothing changed.'],
  ],
  'account.unlocked': [[{ kind: 'account.unlocked', username: 'ada' }, 'ada, by an admin.']],
  'account.removed': [[{ kind: 'account.removed', username: 'ada' }, 'ada.']],
  'role.changed': [
    [
      { kind: 'role.changed', username: 'ada', from_role: 'auditor', to_role: 'admin', by: 'admin' },
      'ada: auditor → admin.',
    ],
    [
      { kind: 'role.changed', username: 'ada', from_role: 'auditor', to_role: 'admin', by: 'oidc' },
      'ada: auditor → admin, from oidc.',
    ],
  ],
  'password.changed': [[{ kind: 'password.changed' }, 'Other sessions ended.']],
  'password.reset': [
    [{ kind: 'password.reset', username: 'ada', by: 'admin' }, 'ada, by an admin.'],
    [
      { kind: 'password.reset', username: 'ada', by: 'screen' },
      'ada, by somebody at the machine itself. Every session ended.',
    ],
    [{ kind: 'password.reset', by: 'link' }, 'With a link from a mail. Every session ended.'],
  ],
  'password.link_sent': [[{ kind: 'password.link_sent' }, 'A link was asked for and mailed.']],
  'mfa.enabled': [[{ kind: 'mfa.enabled' }, 'With a code of the new secret.']],
  'mfa.disabled': [[{ kind: 'mfa.disabled' }, 'By its owner, with the password.']],
  'mfa.reset': [
    [{ kind: 'mfa.reset', username: 'ada' }, 'ada, by an admin.'],
    [{ kind: 'mfa.reset', username: 'ada', by: 'screen' }, 'ada, by somebody at the machine itself.'],
  ],
  'mfa.codes_renewed': [[{ kind: 'mfa.codes_renewed' }, 'All older codes stopped working.']],
  'sessions.ended': [
    [{ kind: 'sessions.ended', count: 3 }, '3 other sessions.'],
    [{ kind: 'sessions.ended', count: 3, username: 'ada' }, '3 sessions of ada, by an admin.'],
  ],
  'session.ended': [
    [{ kind: 'session.ended', own: true }, 'This one.'],
    [{ kind: 'session.ended', own: false, username: 'ada' }, 'One of ada, by an admin.'],
  ],
  'token.created': [
    [
      { kind: 'token.created', name: 'ci', role: 'uploader', days: 30, upload_only: true, distributions: ['jammy'] },
      'ci, uploader, 30 days, uploads only, for jammy.',
    ],
    [{ kind: 'token.created', name: 'ci', role: 'admin', upload_only: false }, 'ci, admin, no expiry.'],
  ],
  'token.revoked': [[{ kind: 'token.revoked', name: 'ci', role: 'uploader' }, 'ci, uploader.']],
  'uploader_key.added': [
    [
      { kind: 'uploader_key.added', name: 'ada', fingerprint: 'AB12', distributions: ['jammy'] },
      'ada, AB12, for jammy.',
    ],
  ],
  'image_key.added': [
    [{ kind: 'image_key.added', name: 'releases', fingerprint: 'ab12' }, 'releases, SHA-256 ab12, for every registry.'],
  ],
  'image_key.removed': [
    [
      { kind: 'image_key.removed', name: 'releases', fingerprint: 'ab12', registries: ['images'] },
      'releases, SHA-256 ab12, for images.',
    ],
  ],
  'uploader_key.removed': [
    [{ kind: 'uploader_key.removed', name: 'ada', fingerprint: 'AB12' }, 'ada, AB12, for every distribution.'],
  ],
  'import_source.added': [
    [{ kind: 'import_source.added', key: 'ours', address: 'https://x.test/' }, 'ours, https://x.test/.'],
  ],
  'import_source.changed': [
    [{ kind: 'import_source.changed', key: 'ours', fields: ['urls', 'keys'] }, 'ours: urls, keys.'],
  ],
  'import_source.removed': [
    [{ kind: 'import_source.removed', key: 'ours', address: 'https://x.test/' }, 'ours, https://x.test/.'],
  ],
  'import_source.accepted': [
    [
      { kind: 'import_source.accepted', key: 'ours', what: 'older', reason: 'Pulled.' },
      'ours: an older state is taken once. Pulled.',
    ],
    [
      { kind: 'import_source.accepted', key: 'ours', what: 'origin', reason: 'Sold.' },
      'ours: another owner or release is taken once. Sold.',
    ],
  ],
  'import_key.added': [[{ kind: 'import_key.added', key: 'AB12', label: 'Vendor' }, 'Vendor, AB12.']],
  'import_key.removed': [[{ kind: 'import_key.removed', key: 'AB12', label: 'Vendor' }, 'Vendor, AB12.']],
  'import_key.accepted': [
    [
      { kind: 'import_key.accepted', key: 'AB12', label: 'Vendor', until: '2027-01-01', reason: 'Late.' },
      'Vendor, AB12: accepted past its end until 2027-01-01. Late.',
    ],
    [
      { kind: 'import_key.accepted', key: 'AB12', label: 'Vendor', reason: 'Renewed.' },
      'Vendor, AB12: no longer accepted past its end. Renewed.',
    ],
  ],
  'backup.made': [
    [
      { kind: 'backup.made', file_name: 'b.tar.gz', size: 9, packages: 3, files: 12, encrypted: false },
      'b.tar.gz, 3 packages, without secrets.',
    ],
    [
      { kind: 'backup.made', file_name: 'b.tar.gz.age', size: 9, packages: 3, files: 12, encrypted: true },
      'b.tar.gz.age, 3 packages, encrypted, with secrets.',
    ],
  ],
  'backup.failed': [[{ kind: 'backup.failed', why: 'The disk is full.' }, 'The disk is full.']],
  'backup.deleted': [[{ kind: 'backup.deleted', file_name: 'b.tar.gz' }, 'b.tar.gz.']],
  'bundle.made': [
    [
      { kind: 'bundle.made', bundle: 'north-0003', site: 'north', packages: 7, size: 9 },
      'north-0003 for north, 7 packages.',
    ],
  ],
  'bundle.removed': [[{ kind: 'bundle.removed', bundle: 'north-0003' }, 'north-0003: its file is gone from here.']],
  'bundle.taken': [
    [
      {
        kind: 'bundle.taken',
        ...{ bundle: 'north-0003', sender: 'hub', fingerprint: 'AB12', older: false, missing: [2] },
        ...{ published: 4, already: 1, held: 1, refused: 0, waits: 1 },
      },
      'north-0003 from hub, signed with AB12: 4 published, 1 here already, 1 held, 0 refused, 1 left out. Not come: 2.',
    ],
    [
      {
        kind: 'bundle.taken',
        ...{ bundle: 'north-0001', sender: 'hub', fingerprint: 'AB12', older: true, missing: [] },
        ...{ published: 0, already: 1, held: 0, refused: 0, waits: 0 },
      },
      'north-0001 from hub, signed with AB12, although a newer one was taken: 0 published, 1 here already, 0 held, 0 refused, 0 left out.',
    ],
  ],
  'bundle.refused': [[{ kind: 'bundle.refused', file: 'a.tar', why: 'It is cut short.' }, 'a.tar: It is cut short.']],
  'bundle.receipt_made': [[{ kind: 'bundle.receipt_made', receipt: 'r', sender: 'hub' }, 'r for hub.']],
  'bundle.receipt_read': [
    [{ kind: 'bundle.receipt_read', receipt: 'r', site: 'north', number: 3 }, 'r: north has bundles up to 3.'],
  ],
  'bundle.site_added': [
    [{ kind: 'bundle.site_added', site: 'north', fingerprints: [] }, 'north, without a key.'],
    [{ kind: 'bundle.site_added', site: 'north', fingerprints: ['AB12'] }, 'north, key AB12.'],
  ],
  'bundle.site_key': [
    [{ kind: 'bundle.site_key', site: 'north', fingerprints: ['AB12'] }, 'north: its receipts are signed with AB12.'],
  ],
  'bundle.site_removed': [[{ kind: 'bundle.site_removed', site: 'north' }, 'north.']],
  'bundle.sender_pinned': [
    [{ kind: 'bundle.sender_pinned', sender: 'hub', fingerprints: ['AB12'] }, 'hub: AB12 is trusted.'],
  ],
  'bundle.sender_removed': [[{ kind: 'bundle.sender_removed', sender: 'hub' }, 'hub is not trusted any more.']],
  'machine.added': [
    [{ kind: 'machine.added', client: 1, hostname: 'plc-gw-07', connection: 'ssh' }, 'plc-gw-07, asked over SSH.'],
    [{ kind: 'machine.added', client: 2, hostname: 'badge-01', connection: 'agent' }, 'badge-01, reports itself.'],
  ],
  'machine.changed': [
    [
      { kind: 'machine.changed', client: 1, hostname: 'plc-gw-07', fields: ['ip', 'ssh_password'] },
      'plc-gw-07: ip, ssh_password.',
    ],
    [{ kind: 'machine.changed', client: 1, hostname: 'plc-gw-07', fields: [] }, 'plc-gw-07: nothing.'],
  ],
  'machine.removed': [[{ kind: 'machine.removed', client: 1, hostname: 'plc-gw-07' }, 'plc-gw-07.']],
  'machine.token': [[{ kind: 'machine.token', client: 1, hostname: 'badge-01' }, 'badge-01: a fresh token.']],
  'machine.key_trusted': [
    [
      { kind: 'machine.key_trusted', client: 1, hostname: 'plc-gw-07', fingerprint: 'SHA256:a' },
      'plc-gw-07: SHA256:a is trusted.',
    ],
  ],
  'machine.key_forgotten': [
    [
      { kind: 'machine.key_forgotten', client: 1, hostname: 'plc-gw-07', fingerprint: 'SHA256:a' },
      'plc-gw-07: SHA256:a is forgotten.',
    ],
  ],
  'machine.key_changed': [
    [
      { kind: 'machine.key_changed', client: 1, hostname: 'plc-gw-07', trusted: 'SHA256:a', offered: 'SHA256:b' },
      'plc-gw-07 shows SHA256:b; trusted is SHA256:a. It is not asked any more.',
    ],
  ],
  'machine.rules': [
    [{ kind: 'machine.rules', asked: ['seen_within_days'] }, 'Asked of machines: seen_within_days.'],
    [{ kind: 'machine.rules', asked: [] }, 'Asked of machines: nothing.'],
  ],
  'backup.restored': [
    [
      { kind: 'backup.restored', backup: 'b', from: 'GATEHOUSE:/b.tar.gz', packages: 3, of: '2026-11-23' },
      'b from the stick GATEHOUSE:/b.tar.gz: everything is as it was on 2026-11-23, with 3 packages.',
    ],
    [
      { kind: 'backup.restored', backup: 'b', packages: 3, of: '2026-11-23T04:30:00.000Z' },
      'b: everything is as it was on 2026-11-23T04:30:00.000Z, with 3 packages.',
    ],
    [
      { kind: 'backup.restored', backup: 'b', packages: 3, of: '2026-11-23', log: 'kept', aside: '.before' },
      'b: everything is as it was on 2026-11-23, with 3 packages. This log went on.',
    ],
    [
      { kind: 'backup.restored', backup: 'b', packages: 3, of: '2026-11-23', log: 'replaced', aside: '.before' },
      'b: everything is as it was on 2026-11-23, with 3 packages. The log of before lies in .before/audit.',
    ],
  ],
  'backup.undone': [
    [
      { kind: 'backup.undone', restored_at: '2026-11-23T04:30:00.000Z' },
      'Back to what was before the restore of 2026-11-23T04:30:00.000Z.',
    ],
    [
      { kind: 'backup.undone', restored_at: '2026-11-23T04:30:00.000Z', log: 'kept' },
      'Back to what was before the restore of 2026-11-23T04:30:00.000Z. This log went on.',
    ],
  ],
  'job.run': [[{ kind: 'job.run', job: 'enrich', work: 'Enrich findings' }, 'Enrich findings.']],
  'source.mirrored': [
    [
      { kind: 'source.mirrored', source: 'bookworm-main', end: 'time', added: 3, pending: 1, blocked: 0, failed: 2 },
      'A mirror of bookworm-main ended (time): 3 published, 1 held, 0 blocked, 2 failed.',
    ],
  ],
  'mirror.rule': [
    [
      { kind: 'mirror.rule', source: 'bookworm-main', values: { names: 'nginx*', newest: '1' } },
      'What is mirrored of bookworm-main: names = nginx*, newest = 1.',
    ],
  ],
  'mirror.frozen': [
    [
      { kind: 'mirror.frozen', frozen: true, reason: 'before the audit' },
      'No mirror and no security update adds to it from now on. before the audit',
    ],
    [{ kind: 'mirror.frozen', frozen: false }, 'Mirrors and security updates add to it again.'],
  ],
  'security.updated': [
    [
      { kind: 'security.updated', distributions: ['bookworm'], added: 2, pending: 1, blocked: 0, failed: 0 },
      'Security updates for bookworm: 2 published, 1 held, 0 blocked, 0 failed.',
    ],
  ],
  'import.asked': [
    [
      { kind: 'import.asked', packages: ['nginx', 'curl'], group: 'web', job: '12345678' },
      'An import of nginx, curl into the group web was asked for (job 12345678).',
    ],
  ],
  'import.group_deleted': [
    [
      { kind: 'import.group_deleted', group: 'web', removed: 3, kept: 1 },
      'The import group web was removed, with 3 packages; 1 stay.',
    ],
  ],
  'dockerfile.read': [
    [
      { kind: 'dockerfile.read', names: 3, importable: 2 },
      'A Dockerfile was read: it installs 3 packages, of which 2 can be imported.',
    ],
  ],
  'appliance.changed': [
    [
      {
        kind: 'appliance.changed',
        verb: 'time.set',
        changes: [{ key: 'zone', from: 'Etc/UTC', to: 'Europe/Berlin' }],
      },
      'Time: zone: Etc/UTC → Europe/Berlin.',
    ],
    [{ kind: 'appliance.changed', verb: 'power.restart', changes: [] }, 'The machine is restarted.'],
    [{ kind: 'appliance.changed', verb: 'disk.grow', changes: [] }, 'disk.grow.'],
  ],
  'appliance.failed': [
    [
      { kind: 'appliance.failed', verb: 'network.keep', why: 'Nothing waits to be kept.' },
      'The new network is kept: this failed. Nothing waits to be kept.',
    ],
  ],
  'appliance.file': [
    [
      { kind: 'appliance.file', file: 'gatehouse-2.0.update', size: 3_000_000, sha256: 'ab' },
      'The update file gatehouse-2.0.update was uploaded, 3 MB, SHA-256 ab.',
    ],
  ],
  'reserve.given_back': [
    [{ kind: 'reserve.given_back', bytes: 256 * 1024 ** 2 }, 'The reserve on the disk was given back, 256 MB.'],
  ],
  'support.bundle': [[{ kind: 'support.bundle', file: 'gatehouse_support_1.tar.gz' }, 'gatehouse_support_1.tar.gz.']],
  'job.cancelled': [
    [{ kind: 'job.cancelled', job: '0badcafe', work: 'Copy packages' }, 'Copy packages (job 0badcafe).'],
  ],
  'settings.changed': [
    [{ kind: 'settings.changed', keys: ['email.host', 'email.port'] }, 'email.host, email.port.'],
    [
      {
        kind: 'settings.changed',
        keys: ['email.smtp_password', 'email.smtp_port'],
        changes: [
          { key: 'email.smtp_password', from: '(empty)', to: '***' },
          { key: 'email.smtp_port', from: '25', to: '587' },
        ],
      },
      'email.smtp_password: (empty) → ***; email.smtp_port: 25 → 587.',
    ],
    [{ kind: 'settings.changed', keys: [] }, 'Nothing changed.'],
  ],
  'policy.changed': [
    [{ kind: 'policy.changed', values: { 'cve_policy.high': 'block' } }, 'cve_policy.high = block.'],
    [
      { kind: 'policy.changed', values: { 'cve_policy.high': 'block' }, before: { 'cve_policy.high': 'review' } },
      'cve_policy.high: review → block.',
    ],
  ],
  'licence.changed': [
    [{ kind: 'licence.changed', issued_to: 'Acme', expires_at: null }, 'Licensed to Acme until further notice.'],
  ],
  'licence.removed': [[{ kind: 'licence.removed' }, 'The licence key was taken away.']],
  'key.taken': [[{ kind: 'key.taken', algorithm: 'rsa3072', fingerprint: 'AB13' }, 'rsa3072, AB13.']],
  'key.made': [[{ kind: 'key.made', algorithm: 'rsa4096', fingerprint: 'AB12' }, 'rsa4096, AB12.']],
  'webhook.taken': [
    [{ kind: 'webhook.taken', source: 'github', event: 'push', about: 'a/b, main' }, 'Webhook push: a/b, main.'],
    [
      { kind: 'webhook.taken', source: 'kev', event: 'kev', about: '' },
      'Webhook: the catalogue of known exploited vulnerabilities is fetched again.',
    ],
  ],
  'data.imported': [
    [
      {
        kind: 'data.imported',
        file: 'all.zip',
        sha256: SHA,
        status: 'imported',
        generation: 7,
        forced: true,
        sources: ['debian', 'kev'],
      },
      `all.zip, SHA-256 ${SHA}: imported, generation 7, forced (debian, kev).`,
    ],
  ],
  'data.refused': [
    [{ kind: 'data.refused', file: 'x.zip', sha256: SHA, why: 'No data.' }, `x.zip, SHA-256 ${SHA}: No data.`],
  ],
  'sources.synchronised': [
    [
      { kind: 'sources.synchronised', target: 'apt', sources: 3, failed: [], added: 7, removed: 1 },
      'apt: 3 sources, 7 packages new, 1 gone.',
    ],
    [
      { kind: 'sources.synchronised', target: 'all', sources: 2, failed: ['bookworm'], added: 0, removed: 0 },
      'all: 2 sources, 0 packages new, 0 gone, failed: bookworm.',
    ],
  ],
  'feeds.asked': [[{ kind: 'feeds.asked', asked: 3, fetched: 2, failed: 1 }, '3 feeds asked, 2 new, 1 failed.']],
  'signatures.updated': [
    [
      { kind: 'signatures.updated', status: 'updated', source: 'mirror', files: 3, reload: 'not_needed' },
      'updated from the mirror, 3 files; reload not needed.',
    ],
  ],
  'signatures.taken': [
    [
      { kind: 'signatures.taken', status: 'updated', medium: 'GATEHOUSE-1', files: 2 },
      'updated from the stick GATEHOUSE-1, 2 files.',
    ],
  ],
  'signatures.refused': [[{ kind: 'signatures.refused', why: 'It is not there.' }, 'It is not there.']],
}

const all = Object.values(EXAMPLES).flat() as readonly (readonly [AuditFacts, string])[]

test.each(all.map(([facts, said]) => [facts.kind, said, facts] as const))('%s: %s', (_, said, facts) => {
  expect(printFacts(facts)).toBe(said)
})

/** Every field name at any depth. */
function names(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    Array.isArray(value) ? names(inner) : [name, ...names(inner)],
  )
}

test('no fact has the name of a search field of the log', () => {
  expect(
    all.flatMap(([facts]) => names(facts)).filter(name => ['package', 'user', 'action', 'result'].includes(name)),
  ).toEqual([])
})
