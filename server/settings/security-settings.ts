import { INSTALL_FACT_KINDS, INSTALL_FACTS, type InstallFactKind } from '../core/install-facts.ts'
import { complainForbidden } from '../core/licences/forbidden.ts'
import { OSV_ECOSYSTEMS } from '../core/osv-ecosystems.ts'
import {
  ACTIONS,
  bool,
  choice,
  FOLDER_NAME,
  FOLDER_OR_EMPTY,
  fraction,
  HOUR,
  int,
  MINUTE,
  PUBLIC_KEY_OR_EMPTY,
  section,
  SHA256_OR_EMPTY,
  text,
  UPDATEINFO_URLS,
  URLS,
  URL_OR_EMPTY,
} from './setting-types.ts'

// Settings of the gate: its steps, the policy, engines and their data, signing.

export const validation = section("The gate's steps.", {
  sha256_check: bool(true, 'Compare the SHA-256 of an upload with the one that the sender names.'),
  clamav_scan: bool(true, 'Scan for malware.'),
  grype_scan: bool(true, 'Scan for known vulnerabilities.'),
  grype_fail_on: choice(
    ['critical', 'high', 'medium', 'low', 'negligible'],
    'critical',
    'From which severity on a scan fails.',
    { inert: 'cve_policy decides for each severity, and grype gets no threshold' },
  ),
  max_upload_size_mb: int(500, [1, 16_384], 'Largest package.', 'MB'),
  vuln_data_max_age_days: int(
    14,
    [1, 3_650],
    'Above this age vulnerability data are stale: what they name counts, and what they do not name says nothing.',
    'd',
  ),
  contents_cpu_seconds: int(
    120,
    [10, 3_600],
    'Processor time to read what one package carries inside; beyond it the rest counts as not scanned.',
    's',
  ),
  on_scanner_unavailable: choice(
    ['hold', 'warn'],
    'hold',
    'What happens to a package that an engine could not scan: held for review, or published with a warning. Default: `hold` in production, else `warn`.',
  ),
})

export const cve_policy = section('What happens to a package with findings, by its worst severity.', {
  critical: choice(ACTIONS, 'block', 'Action for critical findings.'),
  high: choice(ACTIONS, 'review', 'Action for high findings.'),
  medium: choice(ACTIONS, 'warn', 'Action for medium findings.'),
  low: choice(ACTIONS, 'allow', 'Action for low findings.'),
  negligible: choice(ACTIONS, 'allow', 'Action for negligible findings.'),
  unknown_as: choice(
    ['critical', 'high', 'medium', 'low', 'negligible'],
    'high',
    'The severity whose action applies to findings without a rating.',
  ),
  sla_critical_days: int(0, [0, 3_650], 'Days to decide on critical findings.', 'd'),
  sla_high_days: int(30, [0, 3_650], 'Days to decide on high findings.', 'd'),
  sla_medium_days: int(90, [0, 3_650], 'Days to decide on medium findings.', 'd'),
  auto_enrich: bool(true, 'Add exploit probability (EPSS) and known exploitation (KEV) at upload.'),
  kev_action: choice(
    ACTIONS,
    'allow',
    'At least this action for findings known to be exploited (KEV); `allow` adds nothing.',
  ),
  epss_threshold: fraction(0.5, 'Exploit probability (EPSS) from which epss_action counts.'),
  epss_action: choice(ACTIONS, 'allow', 'At least this action from that probability on; `allow` adds nothing.'),
  require_fix: bool(
    false,
    'Only warn of findings without a known fix, whatever their severity; KEV and EPSS count all the same.',
  ),
  malicious_action: choice(
    ACTIONS,
    'block',
    "At least this action for malicious packages (OSV's records `MAL-…`), whatever the severities say; `allow` adds nothing.",
  ),
})

const ruleOf = (kind: InstallFactKind) => {
  const { of, said, action } = INSTALL_FACTS[kind]
  return choice(ACTIONS, action, of === 'script' ? `Action where a script ${said}.` : `Action where a file ${said}.`)
}

export const script_policy = section(
  'What happens to a package for what its scripts do, and for what its list of files says.',
  Object.fromEntries(INSTALL_FACT_KINDS.map(kind => [kind, ruleOf(kind)])) as Record<
    InstallFactKind,
    ReturnType<typeof ruleOf>
  >,
)

export const license_policy = section('What happens to a package for the licence that it declares.', {
  forbidden: text(
    '',
    'Forbidden licences: identifiers of the SPDX list, separated by commas or blanks. `*` at the end means all that begin so; `AGPL-3.0` also means `AGPL-3.0-only` and `AGPL-3.0-or-later`.',
    { complain: complainForbidden },
  ),
  action: choice(ACTIONS, 'review', 'Action where a package declares a forbidden licence, and no other to choose.'),
  undeclared_action: choice(
    ACTIONS,
    'allow',
    'Action where a package declares no licence, or something that is neither an SPDX expression nor a well-known name. Debian packages have no field for it, and are let pass.',
  ),
})

export const engines = section('Vulnerability engines that are programs of their own, where they are installed.', {
  grype: bool(true, 'Ask grype.'),
  grype_sha256: text('', 'SHA-256 of the only grype that is run; empty means any.', {
    ...SHA256_OR_EMPTY,
    maxLength: 64,
  }),
  trivy: bool(true, 'Ask trivy.'),
  trivy_sha256: text('', 'SHA-256 of the only trivy that is run; empty means any.', {
    ...SHA256_OR_EMPTY,
    maxLength: 64,
  }),
})

export const security = section('Vulnerability data of the embedded engine.', {
  bundle_key: text(
    '',
    'Public OpenPGP key, armoured, that data bundles must be signed with. While it is set, unsigned data are not imported by hand.',
    { ...PUBLIC_KEY_OR_EMPTY, maxLength: 100_000 },
  ),
  max_database_mb: int(8_192, [1, 1_048_576], 'Largest file of vulnerability data that is imported by hand.', 'MB'),
  feeds: section('Where vulnerability data are fetched from every day; an empty address is skipped.', {
    hour: int(2, HOUR, 'Hour of the day at which that begins, local time.', 'h'),
    minute: int(20, MINUTE, 'Minute of that hour.', 'min'),
    osv_url: text('', 'Folder of OSV dumps: <ecosystem>/all.zip lies below it.', { ...URL_OR_EMPTY }),
    osv_ecosystems: text(
      OSV_ECOSYSTEMS.join(', '),
      'Ecosystems that are fetched from there, separated by commas; those of the default are all that are read.',
    ),
    debian_tracker_url: text('', 'JSON of the Debian security tracker.', { ...URL_OR_EMPTY }),
    alpine_secdb_url: text('', "Folder of Alpine's secdb: v3.20/main.json and the like lie below it.", {
      ...URL_OR_EMPTY,
    }),
    updateinfo_urls: text('', 'updateinfo.xml of RPM repositories: codename=address, separated by blanks.', {
      ...UPDATEINFO_URLS,
      maxLength: 20_000,
    }),
    nvd_url: text(
      '',
      "Folder of the NVD's yearly files: nvdcve-2.0-2002.json.gz and the like lie below it, 150 to 250 MB together.",
      { ...URL_OR_EMPTY },
    ),
    vex_urls: text(
      '',
      'Archives of VEX of Red Hat, SUSE or Ubuntu, separated by blanks. An address that ends with archive_latest.txt names the archive beside it.',
      { ...URLS, maxLength: 20_000 },
    ),
    kev_url: text('', "JSON of CISA's known exploited vulnerabilities.", { ...URL_OR_EMPTY }),
    epss_url: text('', 'Current EPSS scores, epss_scores-current.csv.gz.', { ...URL_OR_EMPTY }),
  }),
})

export const clamav = section('Where antivirus signatures come from.', {
  mirror_url: text('', 'Private mirror that freshclam asks; empty means the public one.', { ...URL_OR_EMPTY }),
  bundle_folder: text(
    '',
    'Folder with signature files that are taken instead of a mirror; for machines without a network.',
    { ...FOLDER_OR_EMPTY },
  ),
  database_folder: text('/var/lib/clamav', 'Folder that clamd reads its signatures from.', { ...FOLDER_NAME }),
  update_timeout_minutes: int(10, [1, 120], 'How long an update may take.', 'min'),
})

export const signing = section('The key that signs the indexes.', {
  rpm_packages: bool(
    false,
    "Put this repository's signature into every RPM that comes in, so that clients can require it (gpgcheck).",
  ),
  key_type: choice(['rsa4096', 'ed25519Legacy'], 'rsa4096', 'Algorithm of a new key. RSA is read by every client.'),
  key_name: text('Gatehouse', 'Name in a new key.', {
    maxLength: 100,
    pattern: '^[^<>()\\u0000-\\u001f]*$',
    rule: 'text on one line without <, >, ( and )',
  }),
  key_email: text('gatehouse@localhost.localdomain', 'Address in a new key.', {
    maxLength: 254,
    pattern: '^[^\\s<>@]+@[^\\s<>@]+\\.[A-Za-z0-9-]+$',
    rule: 'an address such as repository@example.org',
  }),
  overlap_days: int(30, [0, 3_650], 'How long the previous key signs beside a new one.', 'd'),
})
