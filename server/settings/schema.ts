import { Type, type Static } from '@sinclair/typebox'
import { email, ldap, oidc, mfa_policy } from './account-settings.ts'
import { backup } from './backup-settings.ts'
import { imports } from './import-settings.ts'
import {
  APPLIANCE_COLOURS,
  bool,
  choice,
  FOLDER_OR_EMPTY,
  HOSTS,
  HOUR,
  int,
  LOG_OR_EMPTY,
  MINUTE,
  number,
  schedule,
  section,
  text,
  toggles,
  URL_OR_EMPTY,
  ZONE,
} from './setting-types.ts'
import {
  validation,
  cve_policy,
  script_policy,
  license_policy,
  engines,
  security,
  clamav,
  signing,
} from './security-settings.ts'

const TIMEZONE = text('', "Time zone of these hours; empty means the server's.", { maxLength: 100, ...ZONE })

/** The runtime configuration: keys, defaults, bounds and meaning. Source: the specification, "Settings". */
export const SETTINGS = Type.Object(
  {
    app_url: text(
      '',
      'Where people reach the console. Empty: answers carry the address that was called, mails and webhooks the one that HOST and PORT say.',
      { ...URL_OR_EMPTY },
    ),
    repo_url: text('', 'Where clients reach the repositories, in the lines that set them up. Empty: as app_url.', {
      ...URL_OR_EMPTY,
    }),
    appliance: section(
      'How people tell this server from others: at the edge of every window, at the sign-in, on paper.',
      {
        name: text('', 'What people call this server. Empty: the name that its address has.', { maxLength: 60 }),
        environment: text('', 'What it is for, such as Production, Staging or Test; shown beside the name.', {
          maxLength: 30,
        }),
        colour: choice(APPLIANCE_COLOURS, 'ochre', 'The stripe at the edge of every window.'),
      },
    ),
    license: section('Licence.', {
      key: text('', 'Licence key of the vendor, checked before it is kept.', { secret: true, maxLength: 4_000 }),
    }),
    sync: section(
      'Daily synchronisation of import sources: those in the catalogue, and security updates of what is published here.',
      {
        ...schedule(true, 3, 0, 'the synchronisation of import sources, and of the run that brings security updates'),
        timezone: TIMEZONE,
      },
      { edition: 'sync' },
    ),
    security_updates: section('Runs that bring security updates of what is published, at the hour of sync.', {
      own_builds: bool(
        false,
        "Security updates also come beside packages that were uploaded or adopted and are not the distribution's own files.",
      ),
      max_packages_per_run: int(
        1_000,
        [1, 100_000],
        'Packages that one run of security updates imports at most; the next goes on.',
      ),
      max_runtime_minutes: int(
        180,
        [1, 1_440],
        'So long after its beginning a run of security updates begins no further file.',
        'min',
      ),
    }),
    sources: toggles('Switches each source of packages, by its key; one that is not named is on.'),
    mirror: section('Mirroring of whole sources, a part in each run.', {
      ...schedule(false, 4, 30, 'the mirror'),
      timezone: TIMEZONE,
      max_packages_per_run: int(
        200,
        [1, 100_000],
        'Packages that one run of a source imports at most; one that needs more by itself comes all the same, as the first of a run.',
      ),
      max_runtime_minutes: int(
        60,
        [1, 1_440],
        'So long after its beginning a run begins no further file. In the night all sources share it.',
        'min',
      ),
      min_free_disk_gb: int(5, [0, 1_000_000], 'A run stops before less disk is free.', 'GB'),
      sources: toggles('Sources that the clock mirrors; one that is not named is not.'),
    }),
    versioning: toggles('How many versions are kept.', {
      inert: 'each distribution has its own rule on the page Distributions',
    }),
    notifications: section('Outbound webhook.', {
      webhook_url: text('', 'Where events are sent.', { ...URL_OR_EMPTY }),
      webhook_enabled: bool(false, 'Send events.'),
      webhook_min_packages: int(
        1,
        [0, 1_000_000],
        'The result of a mirror, or of a run of security updates, is sent from this many new packages on.',
      ),
      allow_private_hosts: text(
        '',
        'Hosts, addresses and networks of the private network that may be reached over HTTP, separated by commas: a chat server, a mirror of packages or of the feeds. All others there are refused.',
        { ...HOSTS },
      ),
    }),
    email,
    ldap,
    oidc,
    retention: section(
      'What is removed after a time.',
      {
        audit_days: int(90, [1, 36_500], 'Audit files whose day is longer ago are removed at night.', 'd'),
        import_cleanup_days: int(
          30,
          [1, 36_500],
          'How long an imported version is kept beside a newer published one, where nothing needs it.',
          'd',
        ),
      },
      { edition: 'retention' },
    ),
    import: imports,
    backup,
    bundles: section('Bundles for and from sites without a network.', {
      late_days: int(14, [1, 365], 'A bundle without a receipt for longer than this is shown as late.', 'd'),
    }),
    inventory: section(
      'Machines that are asked over SSH, and what is kept of them.',
      {
        ...schedule(false, 5, 0, 'a scan of all machines that are asked over SSH'),
        command_seconds: int(
          60,
          [1, 600],
          'How long a machine may take for the login, and for its list of packages.',
          's',
        ),
        history_days: int(180, [1, 3_650], 'How long scans and reports stay in the history of a machine.', 'd'),
      },
      { edition: 'The inventory' },
    ),
    validation,
    upload_limits: section(
      'How many uploads a minute are taken; many packages in one request count as one. A token or user with a limit of its own is not counted by address.',
      {
        per_minute_address: int(20, [1, 100_000], 'Uploads a minute from one address.', '/min'),
        per_minute_user: int(0, [0, 100_000], 'Uploads a minute of one user; 0: the address counts.', '/min'),
        per_minute_token: int(
          0,
          [0, 100_000],
          'Uploads a minute with one API token that has no limit of its own; 0: the address counts.',
          '/min',
        ),
      },
    ),
    disk: section('Room on the disk below REPOS_ROOT. GB are 1024³ bytes.', {
      warn_used_pct: int(80, [0, 100], 'Health is degraded and a message is sent from this fill on; 0: never.', '%'),
      min_free_disk_gb: number(
        1,
        [0, 1_000_000],
        'Uploads are refused while less is free, so that deletion, publication and the database can go on; 0: never.',
        'GB',
      ),
      reserve_mb: int(
        256,
        [0, 1_000_000],
        'A file of this size is kept on the disk; an admin can give it back when the disk is full. 0: none.',
        'MB',
      ),
    }),
    clock: section('When daily jobs run.', {
      timezone: text('', "Time zone of every hour in the settings, such as Europe/Paris; empty means the server's.", {
        maxLength: 100,
        ...ZONE,
      }),
      jitter_minutes: int(0, [0, 180], 'Daily jobs begin up to so many minutes late, by chance.', 'min'),
      retention_hour: int(
        2,
        HOUR,
        'Hour of the day at which versions, imports and audit files are removed that retention leaves behind.',
        'h',
      ),
      retention_minute: int(0, MINUTE, 'Minute of that hour.', 'min'),
      job_days: int(30, [1, 3_650], 'How long ended jobs and their logs are kept.', 'd'),
    }),
    downloads: section('Which downloads are counted, and how long addresses are kept whole.', {
      access_log: text(
        '',
        "The access log of a web server that serves the trees from disk, in nginx's format combined, better with the header Range behind it. Empty: this service serves them.",
        { ...LOG_OR_EMPTY },
      ),
      address_days: int(
        30,
        [0, 400],
        'After so many days, addresses of downloads become networks: /24, or /48 of IPv6.',
        'd',
      ),
    }),
    developer_uploads: section('Uploads that developers sign.', {
      watched_folder: text(
        '',
        'A folder that is searched for uploads with a signed .changes; refused ones are moved to rejected/ in it. Empty: none.',
        { ...FOLDER_OR_EMPTY },
      ),
    }),
    cve_policy,
    script_policy,
    license_policy,
    review: section('How held packages are decided on.', {
      four_eyes: bool(false, 'The uploader of a package may not approve it.'),
      min_reason_chars: int(
        10,
        [1, 500],
        'The least length of a reason in the console, and of one for many packages. A single decision over the API takes any.',
      ),
      sla_hour: int(8, HOUR, 'Hour of the day at which missed deadlines are notified, local time.', 'h'),
      sla_minute: int(0, MINUTE, 'Minute of that hour.', 'min'),
      rematch_enabled: bool(
        true,
        'Match published packages again every night, and when vulnerability data have changed.',
      ),
      rematch_hour: int(3, HOUR, 'Hour of the day at which that begins, local time.', 'h'),
      rematch_minute: int(30, MINUTE, 'Minute of that hour.', 'min'),
    }),
    engines,
    security,
    clamav,
    mfa_policy,
    signing,
  },
  { additionalProperties: false },
)

export type SettingsValue = Static<typeof SETTINGS>
