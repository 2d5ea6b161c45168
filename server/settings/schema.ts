import { Type, type Static, type TSchema } from '@sinclair/typebox'

/** No control characters: such a text may end up in a mail header or in a file. */
export const ONE_LINE = '^[^\\u0000-\\u001f\\u007f]*$'

/** `rule` says in words what the pattern asks: "it must be …". */
interface Texted {
  /** Encrypted at rest, `***` in every answer. */
  readonly secret?: true
  readonly pattern?: string
  readonly rule?: string
  readonly maxLength?: number
}

const bool = (value: boolean, description: string) => Type.Boolean({ default: value, description })
const int = (value: number, range: readonly [number, number], description: string, unit?: string) =>
  Type.Integer({
    default: value,
    minimum: range[0],
    maximum: range[1],
    description,
    ...(unit === undefined ? {} : { unit }),
  })
const fraction = (value: number, description: string) =>
  Type.Number({ default: value, minimum: 0, maximum: 1, description })
const text = (value: string, description: string, more: Texted = {}) =>
  Type.String({
    default: value,
    description,
    maxLength: 2_000,
    ...(more.secret === true ? {} : { pattern: ONE_LINE }),
    ...more,
  })
const choice = <const Words extends readonly string[]>(words: Words, value: Words[number], description: string) =>
  Type.Unsafe<Words[number]>(
    Type.Union(
      words.map(word => Type.Literal(word)),
      { enum: [...words], default: value, description },
    ),
  )
/** Opens a section; `edition` names the feature that the community edition refuses. */
const section = <const Leaves extends Record<string, TSchema>>(description: string, leaves: Leaves, edition?: string) =>
  Type.Object(leaves, { description, additionalProperties: false, ...(edition === undefined ? {} : { edition }) })
const toggles = (description: string) =>
  Type.Record(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$' }), Type.Boolean(), {
    default: {},
    description,
    additionalProperties: false,
  })

const ACTIONS = ['block', 'review', 'warn', 'allow'] as const
const HOUR = [0, 23] as const
const MINUTE = [0, 59] as const
const SHA256_OR_EMPTY = { pattern: '^$|^[0-9a-fA-F]{64}$', rule: 'the 64 hex digits of a SHA-256, or empty' }
const PUBLIC_KEY_OR_EMPTY = {
  pattern: '^$|^-----BEGIN PGP PUBLIC KEY BLOCK-----[\\t\\r\\n -~]*-----END PGP PUBLIC KEY BLOCK-----\\s*$',
  rule: 'a public OpenPGP key in its armour, from -----BEGIN to END PUBLIC KEY BLOCK-----, or empty',
}
const UPDATEINFO_URLS = {
  pattern: '^$|^ *[a-z0-9.-]+=https?://[^\\s]+( +[a-z0-9.-]+=https?://[^\\s]+)* *$',
  rule: 'empty, or codename=address separated by blanks, such as almalinux9=https://mirror.example/updateinfo.xml',
}
const URL_OR_EMPTY = {
  pattern: '^$|^https?://[^\\s]+$',
  rule: 'an address that begins with http:// or https:// and holds no blanks, or empty',
}
const HOSTS = {
  pattern: '^$|^ *[A-Za-z0-9_.:/-]+( *, *[A-Za-z0-9_.:/-]+)* *$',
  rule: 'empty, or host names, addresses and networks separated by commas, such as chat.example, 10.0.0.5, 10.1.0.0/16',
}
const FOLDER = '^/[^\\u0000-\\u001f\\u007f"\\\\#]*$'
const FOLDER_RULE = 'a path that begins with / and holds no quotes, backslashes or #'
const FOLDER_NAME = { pattern: FOLDER, rule: FOLDER_RULE }
const FOLDER_OR_EMPTY = { pattern: `^$|${FOLDER}`, rule: `${FOLDER_RULE}, or empty` }
const schedule = (enabled: boolean, hour: number, minute: number, what: string) => ({
  enabled: bool(enabled, `Run ${what} daily.`),
  hour: int(hour, HOUR, 'Hour of the day it runs at, local time.', 'h'),
  minute: int(minute, MINUTE, 'Minute of that hour.', 'min'),
})

/** The runtime configuration: keys, defaults, bounds and meaning. Source: the specification, "Settings". */
export const SETTINGS = Type.Object(
  {
    app_url: text('http://localhost:8000', 'Where people reach the console; password-reset links are made with it.', {
      ...URL_OR_EMPTY,
    }),
    license: section('Licence.', {
      key: text('', 'Licence key of the vendor; PUT /license checks it.', { secret: true, maxLength: 4_000 }),
    }),
    sync: section('Daily security synchronisation.', schedule(true, 3, 0, 'the security synchronisation'), 'sync'),
    sources: toggles('Switches each upstream source, by its id; one that is not named is on.'),
    mirror: section('Bulk mirroring from upstream.', {
      ...schedule(false, 4, 30, 'the mirror'),
      max_packages_per_run: int(200, [1, 100_000], 'Packages one run imports at most.'),
      max_runtime_minutes: int(60, [1, 1_440], 'How long one run lasts at most.', 'min'),
      min_free_disk_gb: int(5, [0, 1_000_000], 'A run stops when less disk is free.', 'GB'),
      sources: toggles('Sources that are mirrored; one that is not named is not.'),
    }),
    notifications: section('Outbound webhook.', {
      webhook_url: text('', 'Where events are sent.', { ...URL_OR_EMPTY }),
      webhook_enabled: bool(false, 'Send events.'),
      webhook_min_packages: int(
        1,
        [0, 1_000_000],
        'A sync or mirror result is sent from this many changed packages on.',
      ),
      allow_private_hosts: text(
        '',
        'Hosts, addresses and networks of the own network that may be reached over HTTP, separated by commas: a chat server, a mirror of the feeds. Everything else there is refused.',
        { ...HOSTS },
      ),
    }),
    email: section(
      'Mail over SMTP.',
      {
        enabled: bool(false, 'Send mail.'),
        smtp_host: text('', 'Mail server.', { maxLength: 255 }),
        smtp_port: int(587, [1, 65_535], 'Its port: 465 is TLS from the start, 587 and 25 use STARTTLS.'),
        smtp_user: text('', 'User name at the mail server.', { maxLength: 255 }),
        smtp_password: text('', 'Password at the mail server.', { secret: true }),
        from_address: text('', 'Sender.', { maxLength: 320 }),
        to_addresses: text('', 'Receivers, separated by commas.'),
        use_tls: bool(true, 'Refuse to send without TLS.'),
        ca_bundle_path: text('', "CA certificates to verify the mail server with; empty means the system's."),
      },
      'email',
    ),
    ldap: section(
      'Login against a directory.',
      {
        enabled: bool(false, 'Ask the directory when no local account matches.'),
        host: text('', 'Directory server.', { maxLength: 255 }),
        port: int(389, [1, 65_535], 'Its port.'),
        use_ssl: bool(false, 'LDAPS.'),
        use_starttls: bool(false, 'StartTLS.'),
        bind_dn: text('', 'DN of the service account.'),
        bind_password: text('', 'Its password.', { secret: true }),
        base_dn: text('', 'Where people are searched.'),
        user_filter: text('(uid={username})', 'Search filter; {username} is replaced, escaped.'),
        attr_username: text('uid', 'Attribute with the user name.', { maxLength: 100 }),
        attr_email: text('mail', 'Attribute with the mail address.', { maxLength: 100 }),
        attr_fullname: text('cn', 'Attribute with the full name.', { maxLength: 100 }),
        attr_groups: text('memberOf', 'Attribute with the groups.', { maxLength: 100 }),
        group_admin: text('', 'Group whose members are admins.'),
        group_maintainer: text('', 'Group whose members are maintainers.'),
        group_uploader: text('', 'Group whose members are uploaders.'),
        group_auditor: text('', 'Group whose members are auditors.'),
        group_reader: text('', 'Group whose members are readers.'),
        default_role: choice(
          ['reader', 'auditor', 'uploader', 'maintainer', 'admin'],
          'reader',
          'Role of those in none of the groups.',
        ),
        auto_provision: bool(true, 'Make the local user at the first login.'),
        verify_cert: bool(true, "Verify the directory's certificate."),
        ca_bundle_path: text('', "CA certificates to verify it with; empty means the system's."),
      },
      'ldap',
    ),
    oidc: section(
      'Single sign-on with OpenID Connect.',
      {
        enabled: bool(false, 'Offer single sign-on on the login page.'),
        label: text('Single sign-on', 'What the button on the login page says.', { maxLength: 60 }),
        issuer: text('', 'Address of the provider, without /.well-known/….', { ...URL_OR_EMPTY }),
        client_id: text(
          '',
          'What the provider calls this service. Its redirect address is <app_url>/api/v1/auth/oidc/callback.',
          { maxLength: 255 },
        ),
        client_secret: text('', "The client's secret; empty for a public client, which PKCE protects.", {
          secret: true,
        }),
        scopes: text('openid profile email', 'What is asked for.', {
          maxLength: 500,
          pattern: '^openid( [\\x21\\x23-\\x5b\\x5d-\\x7e]+)*$',
          rule: 'openid, and more scopes behind it separated by one blank each',
        }),
        username_claim: text('preferred_username', 'Claim with the user name.', { maxLength: 200 }),
        role_claim: text('groups', 'Claim with groups or roles; dots lead into objects, as in realm_access.roles.', {
          maxLength: 200,
        }),
        group_admin: text('', 'Value of that claim that makes an admin.'),
        group_maintainer: text('', 'Value that makes a maintainer.'),
        group_uploader: text('', 'Value that makes an uploader.'),
        group_auditor: text('', 'Value that makes an auditor.'),
        group_reader: text('', 'Value that makes a reader.'),
        default_role: choice(
          ['none', 'reader', 'auditor', 'uploader', 'maintainer', 'admin'],
          'reader',
          'Role of those with none of the values; none keeps them out.',
        ),
        auto_provision: bool(true, 'Make the local user at the first login.'),
      },
      'oidc',
    ),
    retention: section(
      'What is removed after a time.',
      {
        audit_days: int(90, [1, 36_500], 'How long audit files are kept.', 'd'),
        import_cleanup_days: int(30, [1, 36_500], 'How long what an import left is kept.', 'd'),
      },
      'retention',
    ),
    backup: section('Daily backup.', {
      ...schedule(false, 4, 30, 'the backup'),
      retention_count: int(7, [1, 1_000], 'Backups that are kept.'),
    }),
    validation: section("The gate's steps.", {
      sha256_check: bool(true, 'Compare the SHA-256 of what arrived with what the sender said.'),
      clamav_scan: bool(true, 'Scan for malware.'),
      grype_scan: bool(true, 'Look for known vulnerabilities.'),
      grype_fail_on: choice(
        ['critical', 'high', 'medium', 'low', 'negligible'],
        'critical',
        'Kept for clients that set it, and decides nothing: cve_policy says what happens at each severity, and grype is never given a threshold of its own.',
      ),
      max_upload_size_mb: int(500, [1, 16_384], 'Largest package.', 'MB'),
      vuln_data_max_age_days: int(
        14,
        [1, 3_650],
        'From this age on vulnerability data are too old to be believed, and the silence of their engine is no answer.',
        'd',
      ),
      on_scanner_unavailable: choice(
        ['hold', 'warn'],
        'hold',
        'What happens to a package that an engine could not look at: held for review, or published with a warning. `hold` in production, else `warn`, unless it is set.',
      ),
    }),
    developer_uploads: section('Uploads that developers sign.', {
      watched_folder: text(
        '',
        'A folder in which uploads with a signed .changes are looked for; what was refused is moved to rejected/ in it. Empty: none.',
        { ...FOLDER_OR_EMPTY },
      ),
    }),
    cve_policy: section('What happens to a package with findings, by its worst severity.', {
      critical: choice(ACTIONS, 'block', 'Action for critical findings.'),
      high: choice(ACTIONS, 'review', 'Action for high findings.'),
      medium: choice(ACTIONS, 'warn', 'Action for medium findings.'),
      low: choice(ACTIONS, 'allow', 'Action for low findings.'),
      negligible: choice(ACTIONS, 'allow', 'Action for negligible findings.'),
      unknown_as: choice(
        ['critical', 'high', 'medium', 'low', 'negligible'],
        'high',
        'The severity whose action findings have that nobody has rated.',
      ),
      sla_critical_days: int(0, [0, 3_650], 'Days to decide on critical findings.', 'd'),
      sla_high_days: int(30, [0, 3_650], 'Days to decide on high findings.', 'd'),
      sla_medium_days: int(90, [0, 3_650], 'Days to decide on medium findings.', 'd'),
      auto_enrich: bool(true, 'Add exploit probability (EPSS) and known exploitation (KEV) at upload.'),
      kev_action: choice(
        ACTIONS,
        'allow',
        'At least this action for what is known to be exploited (KEV); `allow` asks for nothing more.',
      ),
      epss_threshold: fraction(0.5, 'Exploit probability (EPSS) from which epss_action counts.'),
      epss_action: choice(
        ACTIONS,
        'allow',
        'At least this action from that probability on; `allow` asks for nothing more.',
      ),
      require_fix: bool(
        false,
        'Only warn of findings without a known fix, whatever their severity; KEV and EPSS count all the same.',
      ),
    }),
    review: section('How held packages are decided on.', {
      four_eyes: bool(false, 'Who uploaded a package may not approve it.'),
      sla_hour: int(8, HOUR, 'Hour of the day at which missed deadlines are told, local time.', 'h'),
      sla_minute: int(0, MINUTE, 'Minute of that hour.', 'min'),
      rematch_enabled: bool(
        true,
        'Look published packages up again every night, and when vulnerability data has changed.',
      ),
      rematch_hour: int(3, HOUR, 'Hour of the day at which that begins, local time.', 'h'),
      rematch_minute: int(30, MINUTE, 'Minute of that hour.', 'min'),
    }),
    engines: section('Vulnerability engines that are programs of their own, where they are installed.', {
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
    }),
    security: section('Vulnerability data of the embedded engine.', {
      bundle_key: text(
        '',
        'Public OpenPGP key, armoured, that data bundles must be signed with. While it is set nothing unsigned is taken by hand.',
        { ...PUBLIC_KEY_OR_EMPTY, maxLength: 100_000 },
      ),
      max_database_mb: int(8_192, [1, 1_048_576], 'Largest file of vulnerability data that is taken by hand.', 'MB'),
      feeds: section('Where vulnerability data are fetched from every day; an empty address is not asked.', {
        hour: int(2, HOUR, 'Hour of the day at which that begins, local time.', 'h'),
        minute: int(20, MINUTE, 'Minute of that hour.', 'min'),
        osv_url: text('', 'Folder of OSV dumps: <ecosystem>/all.zip lies below it.', { ...URL_OR_EMPTY }),
        osv_ecosystems: text(
          'Debian, Ubuntu, Alpine, AlmaLinux, Rocky Linux, Red Hat, openSUSE, npm, PyPI, Maven',
          'Ecosystems that are fetched from there, separated by commas.',
        ),
        debian_tracker_url: text('', 'JSON of the Debian security tracker.', { ...URL_OR_EMPTY }),
        alpine_secdb_url: text('', "Folder of Alpine's secdb: v3.20/main.json and its kin lie below it.", {
          ...URL_OR_EMPTY,
        }),
        updateinfo_urls: text('', 'updateinfo.xml of RPM repositories: codename=address, separated by blanks.', {
          ...UPDATEINFO_URLS,
          maxLength: 20_000,
        }),
        kev_url: text('', "JSON of CISA's known exploited vulnerabilities.", { ...URL_OR_EMPTY }),
        epss_url: text('', 'Current EPSS scores, epss_scores-current.csv.gz.', { ...URL_OR_EMPTY }),
      }),
    }),
    clamav: section('Where antivirus signatures come from.', {
      mirror_url: text('', 'Private mirror that freshclam asks; empty means the public one.', { ...URL_OR_EMPTY }),
      bundle_folder: text(
        '',
        'Folder with signature files that are taken instead of a mirror; for machines without a network.',
        { ...FOLDER_OR_EMPTY },
      ),
      database_folder: text('/var/lib/clamav', 'Folder that clamd reads its signatures from.', { ...FOLDER_NAME }),
      update_timeout_minutes: int(10, [1, 120], 'How long an update may take.', 'min'),
    }),
    mfa_policy: section('Second factor for admins.', {
      enforce_admin_mfa: bool(false, 'Admins need a second factor.'),
      grace_period_days: int(7, [0, 365], 'How long an admin may still log in without one.', 'd'),
    }),
    signing: section('The key that signs the indexes.', {
      rpm_packages: bool(
        false,
        "Put this repository's signature into every RPM that comes in, so that clients can insist on it (gpgcheck).",
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
      overlap_days: int(30, [0, 3_650], 'How long the previous key goes on signing beside a new one.', 'd'),
    }),
  },
  { additionalProperties: false },
)

export type SettingsValue = Static<typeof SETTINGS>
