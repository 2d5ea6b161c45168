import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isRefusal } from '../core/errors.ts'
import { createSecretBox } from '../lib/secret-box.ts'
import { SETTINGS } from './schema.ts'
import { ONE_LINE } from '../core/rule.ts'
import { createSettings, type Settings, type SettingsDeps } from './store.ts'
import { leaves } from './tree.ts'

let root: string
let settingsFile: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-settings-'))
  settingsFile = join(root, 'settings.json')
})
afterEach(() => rm(root, { recursive: true, force: true }))

const open = (more: Partial<SettingsDeps> = {}): Promise<Settings> =>
  createSettings({
    layout: { settingsFile },
    box: createSecretBox('a key'),
    production: true,
    isEnterprise: () => true,
    ...more,
  })
const refusal = async (settings: Settings, change: unknown): Promise<string> =>
  settings.patch(change).then(
    () => 'no refusal',
    (error: unknown) => (isRefusal(error) ? `${error.code}: ${error.message}` : String(error)),
  )

test('the defaults are those of the specification', async () => {
  const now = (await open()).now()
  expect(now.sync).toEqual({ enabled: true, hour: 3, minute: 0, timezone: '' })
  expect(now.mirror).toEqual({
    enabled: false,
    hour: 4,
    minute: 30,
    timezone: '',
    max_packages_per_run: 200,
    max_runtime_minutes: 60,
    min_free_disk_gb: 5,
    sources: {},
  })
  expect(now.versioning).toEqual({})
  expect(now.email).toMatchObject({ enabled: false, smtp_port: 587, use_tls: true })
  expect(now.ldap).toMatchObject({
    enabled: false,
    port: 389,
    default_role: 'reader',
    auto_provision: true,
    verify_cert: true,
    ca_bundle_path: '',
  })
  expect(now.retention).toEqual({ audit_days: 90, import_cleanup_days: 30 })
  expect(now.backup).toEqual({
    enabled: false,
    hour: 4,
    minute: 30,
    retention_count: 7,
    retention_days: 0,
    passphrase: '',
    drill_weekly: false,
    to_folder: true,
    directory: '',
    s3_endpoint: '',
    s3_bucket: '',
    s3_prefix: '',
    s3_region: 'us-east-1',
    s3_access_key: '',
    s3_secret_key: '',
    s3_ca_bundle_path: '',
  })
  expect(now.validation).toEqual({
    sha256_check: true,
    clamav_scan: true,
    contents_cpu_seconds: 120,
    grype_scan: true,
    grype_fail_on: 'critical',
    max_upload_size_mb: 500,
    on_scanner_unavailable: 'hold',
    vuln_data_max_age_days: 14,
  })
  expect(now.cve_policy).toEqual({
    critical: 'block',
    high: 'review',
    medium: 'warn',
    low: 'allow',
    negligible: 'allow',
    unknown_as: 'high',
    sla_critical_days: 0,
    sla_high_days: 30,
    sla_medium_days: 90,
    auto_enrich: true,
    kev_action: 'allow',
    epss_threshold: 0.5,
    epss_action: 'allow',
    require_fix: false,
    malicious_action: 'block',
  })
  expect(now.mfa_policy).toEqual({ enforce_admin_mfa: false, grace_period_days: 7 })
  for (const leaf of leaves(SETTINGS, now)) expect(leaf.schema.description, leaf.path).toMatch(/\.$/)
})

test('outside production an engine that does not answer only warns', async () => {
  expect((await open({ production: false })).now().validation.on_scanner_unavailable).toBe('warn')
})

describe('a patch', () => {
  test('is merged deeply, kept as the difference only, and told to subscribers', async () => {
    const settings = await open()
    const told: number[] = []
    settings.subscribe(now => told.push(now.review.sla_hour))
    expect(await settings.patch({ review: { sla_hour: 5 }, cve_policy: { high: 'block' } })).toMatchObject({
      changed: ['cve_policy.high', 'review.sla_hour'],
    })
    expect(settings.now().review).toMatchObject({ sla_hour: 5, sla_minute: 0 })
    expect(JSON.parse(await readFile(settingsFile, 'utf8'))).toEqual({
      review: { sla_hour: 5 },
      cve_policy: { high: 'block' },
    })
    expect((await stat(settingsFile)).mode & 0o777).toBe(0o600)
    expect(told).toEqual([5])
    expect((await open()).now().review.sla_hour).toBe(5)
  })

  test('of a secret is masked in answers, encrypted on disk, unchanged by ***, and readable after a restart', async () => {
    const settings = await open()
    // the audit log says of each value what it was and is, and nothing of a secret
    expect(await settings.patch({ email: { smtp_password: 'hunter2', smtp_host: 'old.example' } })).toMatchObject({
      changes: [
        { key: 'email.smtp_host', from: '(empty)', to: 'old.example' },
        { key: 'email.smtp_password', from: '(empty)', to: '***' },
      ],
    })
    expect(await settings.patch({ email: { smtp_password: '***', smtp_host: 'mail.example' } })).toMatchObject({
      changes: [{ key: 'email.smtp_host', from: 'old.example', to: 'mail.example' }],
    })
    expect(settings.masked().email).toMatchObject({ smtp_password: '***', smtp_host: 'mail.example' })
    expect(settings.masked().ldap.bind_password).toBe('') // nothing is set, and that is no secret
    expect(await readFile(settingsFile, 'utf8')).not.toContain('hunter2')
    expect((await open()).now().email.smtp_password).toBe('hunter2')
  })

  test.each<[string, unknown, string]>([
    [
      'an unknown key',
      { sync: { hours: 1 } },
      'unknown_setting: There is no setting sync.hours; sync has enabled, hour, minute, timezone.',
    ],
    [
      'an unknown section',
      { syncs: {} },
      `unknown_setting: There is no setting syncs; there are ${Object.keys(SETTINGS.properties).join(', ')}.`,
    ],
    [
      'a value out of bounds',
      { sync: { hour: 24 } },
      'bad_setting: sync.hour: it must be a whole number from 0 to 23.',
    ],
    ['a value of another type', { sync: { enabled: 'yes' } }, 'bad_setting: sync.enabled: it must be true or false.'],
    ['null', { sync: { hour: null } }, 'bad_setting: sync.hour: it must be a whole number from 0 to 23.'],
    ['a section that is no object', { sync: true }, 'bad_setting: sync: it must be an object.'],
    [
      'an action nobody knows',
      { cve_policy: { high: 'explode' } },
      'bad_setting: cve_policy.high: it must be one of block, review, warn, allow.',
    ],
    [
      'a prototype key',
      JSON.parse('{"__proto__":{"polluted":true}}'),
      expect.stringContaining('unknown_setting: There is no setting __proto__; there are ') as string,
    ],
    [
      'a prototype key in free names',
      JSON.parse('{"sources":{"__proto__":true}}'),
      'bad_setting: sources: it must be an object of names, each with true or false.',
    ],
    ['an array', [], 'bad_setting: settings: it must be an object.'],
  ])('with %s is refused, and nothing of it is kept', async (_, change, message) => {
    const settings = await open()
    const before = settings.now()
    const whole = Array.isArray(change) ? change : { ...{ review: { sla_hour: 3 } }, ...(change as object) }
    expect(await refusal(settings, change)).toEqual(message)
    expect(await refusal(settings, Object.hasOwn(change as object, '__proto__') ? change : whole)).toEqual(message)
    expect(settings.now()).toBe(before)
  })

  test('that is wrong in several places names each of them, and keeps nothing', async () => {
    const settings = await open()
    const before = settings.now()
    const change = {
      retention_days: 'x',
      ldap_url: 'dir',
      app_url: 'ftp://x',
      sync: { hour: 99, hours: 1, minute: 0 },
      nothing: 1,
      cve_policy: { high: 'explode' },
      security: { feeds: { kev_url: 'x', hour: 1.5 } },
      notifications: { allow_private_hosts: 'a b' },
      engines: { grype_sha256: 'zz' },
      ldap: true,
      email: { smtp_host: 'x'.repeat(300), from_address: 'a\r\nb' },
      signing: { key_email: 'x', key_name: '<' },
      clamav: { database_folder: 'x', bundle_folder: 'x' },
      oidc: { scopes: 'email' },
    }
    const error = await settings.patch(change).then(
      () => undefined,
      (refused: unknown) => (isRefusal(refused) ? refused : undefined),
    )
    const told = [error?.message, ...(error?.facts.others as { message: string }[]).map(({ message }) => message)]
    expect(told).toHaveLength(19)
    expect(told.slice(0, 4)).toEqual([
      'ldap_url: it must be a URL such as ldaps://directory.example:636.',
      'retention.audit_days: it must be a whole number from 1 to 36500.',
      'app_url: it must be an address that begins with http:// or https:// and holds no blanks, or empty.',
      'sync.hour: it must be a whole number from 0 to 23.',
    ])
    // rules in words: nobody has to read an expression
    for (const message of told) expect(message).not.toMatch(/\[\^|\\[su]|\$\||\(\?/)
    expect(settings.now()).toBe(before)
  })

  test('every pattern of a setting says in words what it asks', () => {
    const { now } = { now: {} }
    for (const { path, schema } of leaves(SETTINGS, now))
      if (schema.pattern !== undefined && schema.pattern !== ONE_LINE) expect(schema.rule, path).toMatch(/^[a-z]/)
  })

  test('of the flat keys of older clients lands in its section', async () => {
    const settings = await open()
    await settings.patch({
      ldap_url: 'ldaps://dir.example',
      ldap_bind_dn: 'cn=svc',
      ldap_bind_password: 'pw',
      ldap_base_dn: 'dc=example',
      retention_days: 90,
    })
    expect(settings.now().ldap).toMatchObject({
      host: 'dir.example',
      port: 636,
      use_ssl: true,
      bind_dn: 'cn=svc',
      bind_password: 'pw',
      base_dn: 'dc=example',
    })
    await settings.patch({ retention_days: 30 })
    expect(settings.now().retention.audit_days).toBe(30)
    expect(await refusal(settings, { ldap_url: 'http://dir' })).toContain('bad_setting: ldap_url')
  })

  test('of settings that this version does nothing with is refused, names each, and keeps nothing', async () => {
    const settings = await open()
    const before = settings.now()
    const change = {
      mirror: { enabled: true, sources: { debian: true } },
      versioning: { all: true },
      retention: { audit_days: 30, import_cleanup_days: 5 },
      validation: { grype_fail_on: 'high' },
      notifications: { webhook_min_packages: 5 },
    }
    const error = await settings
      .patch({ ...change, cve_policy: { high: 'block' } })
      .catch((refused: unknown) => refused)
    const { code, facts } = error as { code: string; facts: { key: string; why: string; others: { key: string }[] } }
    expect([code, facts.key, ...facts.others.map(({ key }) => key)]).toEqual([
      'setting_not_available',
      'versioning',
      'validation.grype_fail_on',
    ])
    expect(await refusal(settings, { versioning: { all: true } })).toBe(
      'setting_not_available: versioning cannot be changed: each distribution has its own rule on the page Distributions. Leave it out, or send the value that it has.',
    )
    expect(settings.now()).toBe(before)
  })

  test('that sends back the whole object changes what differs and refuses nothing', async () => {
    const settings = await open()
    const whole = settings.masked()
    expect(await settings.patch({ ...whole, cve_policy: { ...whole.cve_policy, high: 'block' } })).toMatchObject({
      changed: ['cve_policy.high'],
    })
  })

  test('twenty at once lose nothing', async () => {
    const settings = await open()
    const texts = [...leaves(SETTINGS, {})].filter(
      ({ path, schema }) => /^(ldap|oidc)\./.test(path) && schema.type === 'string' && schema.pattern === ONE_LINE,
    )
    const wanted = texts.slice(0, 20).map(({ path }, n) => ({ path, value: `value ${n}` }))
    expect(wanted).toHaveLength(20)
    await Promise.all(
      wanted.map(({ path, value }) => {
        const [section = '', key = ''] = path.split('.')
        return settings.patch({ [section]: { [key]: value } })
      }),
    )
    const kept = new Map([...leaves(SETTINGS, (await open()).now())].map(({ path, value }) => [path, value]))
    expect(wanted.map(({ path }) => ({ path, value: kept.get(path) }))).toEqual(wanted)
  })

  test('of an enterprise section is refused in the community edition; the rest goes on', async () => {
    const settings = await open({ isEnterprise: () => false })
    expect(await refusal(settings, { ldap: { enabled: true } })).toContain('enterprise_only')
    expect(await refusal(settings, { retention_days: 5 })).toContain('enterprise_only')
    expect(await refusal(settings, { ldap: { enabled: 'yes' } })).toContain('enterprise_only')
    expect(await refusal(settings, { ldap: { enabled: false } })).toContain('enterprise_only')
    expect(await settings.patch({})).toMatchObject({ changed: [] })
    await settings.patch({ cve_policy: { high: 'warn' } })
    expect(settings.now().cve_policy.high).toBe('warn')
  })

  test('in the community edition may send back what it read: unchanged values are no change', async () => {
    const settings = await open({ isEnterprise: () => false })
    const read = settings.masked()
    expect(await settings.patch(read as never)).toMatchObject({ changed: [] })
    expect(await settings.patch({ ...read, signing: { ...read.signing, key_name: 'Ada' } } as never)).toMatchObject({
      changed: ['signing.key_name'],
    })
    expect(await refusal(settings, { ...read, sync: { ...read.sync, hour: read.sync.hour + 1 } })).toContain(
      'enterprise_only',
    )
    expect(settings.now().signing.key_name).toBe('Ada')
  })
})

describe('a start', () => {
  test('with a file of an earlier release keeps what this version does nothing with, also through a change', async () => {
    const kept = { sync: { hour: 5 }, versioning: { all: true }, sources: { ubuntu: false } }
    await writeFile(settingsFile, JSON.stringify(kept))
    const settings = await open()
    expect(settings.now()).toMatchObject(kept)
    await settings.patch({ sync: { hour: 5 }, sources: { ubuntu: false }, cve_policy: { high: 'warn' } })
    expect(JSON.parse(await readFile(settingsFile, 'utf8'))).toEqual({ ...kept, cve_policy: { high: 'warn' } })
  })

  test('with a damaged file stops in one clear line', async () => {
    await writeFile(settingsFile, '{"sync":')
    await expect(open()).rejects.toThrow('settings.json is damaged')
  })

  test('with another key names the setting it cannot read', async () => {
    await (await open()).patch({ ldap: { bind_password: 'x' } })
    await expect(open({ box: createSecretBox('another key') })).rejects.toThrow(
      'ldap.bind_password cannot be read: it was encrypted with another SETTINGS_ENCRYPTION_KEY',
    )
  })
})
