import { bool, choice, int, section, text, URL_OR_EMPTY } from './setting-types.ts'

// Settings of people: mail, the directory, single sign-on, second factor.

export const email = section(
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
  { edition: 'email' },
)

export const ldap = section(
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
  { edition: 'ldap' },
)

export const oidc = section(
  'Single sign-on with OpenID Connect.',
  {
    enabled: bool(false, 'Offer single sign-on on the login page.'),
    label: text('Single sign-on', 'Label of the button on the login page.', { maxLength: 60 }),
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
  { edition: 'oidc' },
)

export const mfa_policy = section('Second factor for admins.', {
  enforce_admin_mfa: bool(false, 'Admins need a second factor.'),
  grace_period_days: int(7, [0, 365], 'How long an admin may still log in without one.', 'd'),
})
