import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { api } from '../../server/api.ts'
import { ROLES, type Role } from '../../server/core/access.ts'
import type { BoundRoute, Row } from '../../server/core/contract.ts'
import { freshAddress, startApp, type TestApp } from '../support/app.ts'
import { PASSWORD, startAccounts, type TestAccounts } from '../support/accounts.ts'

/**
 * Who may, as the specification says it: its endpoint tables and its permission summary. `-` is nobody without a
 * credential.
 */
const EVERYONE: readonly (Role | '-')[] = ['-', ...ROLES]
const ANY: readonly Role[] = ROLES
const UPLOADERS: readonly Role[] = ['uploader', 'maintainer', 'admin']
const AUDITORS: readonly Role[] = ['auditor', 'maintainer', 'admin']
const MAINTAINERS: readonly Role[] = ['maintainer', 'admin']
const ADMINS: readonly Role[] = ['admin']

const SPEC: Record<string, readonly (Role | '-')[]> = {
  // Auth, Setup wizard
  'POST /auth/token': EVERYONE,
  'GET /auth/me': ANY,
  'POST /auth/change-password': ANY,
  'GET /auth/roles': EVERYONE,
  'GET /auth/users': ADMINS,
  'POST /auth/users': ADMINS,
  'PATCH /auth/users/{username}': ADMINS,
  'DELETE /auth/users/{username}': ADMINS,
  'POST /auth/users/{username}/reset-password': ADMINS,
  'GET /auth/api-tokens': ADMINS,
  'POST /auth/api-tokens': ADMINS,
  'DELETE /auth/api-tokens/{token_id}': ADMINS,
  'POST /auth/forgot-password': EVERYONE,
  'POST /auth/reset-password': EVERYONE,
  'POST /auth/mfa/setup': ANY,
  'POST /auth/mfa/confirm': ANY,
  'POST /auth/mfa/authenticate': EVERYONE,
  'POST /auth/mfa/disable': ANY,
  'POST /auth/mfa/recovery-codes': ANY,
  'GET /auth/mfa/recovery-codes/count': ANY,
  'POST /setup/': EVERYONE,
  'GET /setup/status': EVERYONE,
  'POST /setup/address': ADMINS,
  'GET /setup/clock': ADMINS,
  // Packages and artifacts, Upload
  'GET /packages/': ANY,
  'GET /artifacts/': ANY,
  'GET /artifacts/{name}': ANY,
  'GET /artifacts/{name}/dependencies': ANY,
  'GET /artifacts/{name}/install': ANY,
  'GET /artifacts/{name}/versions': ANY,
  'GET /artifacts/{name}/versions/compare': ANY,
  'GET /artifacts/{name}/versions/{version}/snapshot': ANY,
  'GET /artifacts/{name}/versions/{version}/download': ANY,
  'GET /artifacts/admin/index': MAINTAINERS,
  'GET /artifacts/{name}/{version}': ANY,
  'GET /artifacts/{name}/{version}/compare': ANY,
  'GET /artifacts/{name}/{version}/compare/files': ANY,
  'GET /artifacts/{name}/{version}/components': ANY,
  'GET /artifacts/{name}/{version}/unopened': ANY,
  'GET /artifacts/{name}/{version}/changes': ANY,
  'DELETE /artifacts/{name}': MAINTAINERS,
  'DELETE /artifacts/{name}/{version}': MAINTAINERS,
  'GET /artifacts/audit/logs': AUDITORS,
  'POST /artifacts/admin/sync-index': MAINTAINERS,
  'POST /upload/': UPLOADERS,
  'GET /import/adopt/roots': MAINTAINERS,
  'POST /import/adopt': MAINTAINERS,
  'POST /upload/stream': UPLOADERS,
  'POST /upload/sample': ADMINS,
  'GET /upload/sample': ADMINS,
  // Security
  'GET /security/vulnerabilities': ANY,
  'GET /security/packages-posture': ANY,
  'GET /security/findings-history': ANY,
  'GET /security/packages': MAINTAINERS,
  'GET /security/packages/{name}/{version}/cve': ANY,
  'GET /security/review-queue': ANY,
  'GET /security/packages/{name}/{version}/decision': ANY,
  'POST /security/packages/{name}/{version}/decide': MAINTAINERS,
  'POST /security/review-queue/preview': MAINTAINERS,
  'POST /security/review-queue/decide': MAINTAINERS,
  'POST /security/packages/{name}/{version}/rescan': MAINTAINERS,
  'POST /security/packages/{name}/{version}/quarantine': MAINTAINERS,
  'GET /security/packages/{name}/{version}/vex': ANY,
  'POST /security/packages/{name}/{version}/vex': UPLOADERS,
  'POST /security/packages/{name}/{version}/vex/{sha256}/accept': MAINTAINERS,
  'DELETE /security/packages/{name}/{version}/vex/{sha256}': MAINTAINERS,
  'GET /security/report': ANY,
  'POST /security/check-sla': ADMINS,
  'GET /security/clamav/status': ANY,
  'POST /security/clamav/update': ADMINS,
  'POST /security/clamav/medium': ADMINS,
  'POST /security/policy/rescan': ADMINS,
  'GET /security/policy': ADMINS,
  'PATCH /security/policy': ADMINS,
  // SBOM: the endpoint table; the permission summary lets everybody read
  // SBOM: the permission summary lets everybody read it
  'GET /sbom/export': ANY,
  'GET /sbom/preview': ANY,
  'GET /sbom/{name}/{version}': ANY,
  // Distributions: the permission summary lets maintainers initialise
  'GET /formats': ANY,
  'GET /distributions/': ANY,
  'GET /distributions/{codename}/definition': ANY,
  'POST /distributions/': ADMINS,
  'PATCH /distributions/{codename}': ADMINS,
  'DELETE /distributions/{codename}': ADMINS,
  // Registries
  'GET /registries/': ANY,
  'POST /registries/': ADMINS,
  'GET /registries/{name}': ANY,
  'PATCH /registries/{name}': ADMINS,
  'DELETE /registries/{name}': ADMINS,
  'GET /registries/{name}/setup': ANY,
  'GET /registries/{name}/packages': ANY,
  'GET /registries/{name}/hidden': ANY,
  'GET /registries/{name}/asked': ANY,
  'GET /registries/{name}/waivers': ANY,
  'PUT /registries/{name}/packages/{package}/versions/{version}/waiver': MAINTAINERS,
  'DELETE /registries/{name}/packages/{package}/versions/{version}/waiver': MAINTAINERS,
  'GET /registries/{name}/packages/{package}/tags': ANY,
  'GET /registries/{name}/packages/{package}/versions/{version}/image': ANY,
  'PUT /registries/{name}/packages/{package}/tags/{tag}': UPLOADERS,
  'DELETE /registries/{name}/packages/{package}/tags/{tag}': UPLOADERS,
  'PUT /registries/{name}/packages/{package}/versions/{version}/mark': MAINTAINERS,
  'DELETE /registries/{name}/packages/{package}/versions/{version}/mark': MAINTAINERS,
  'PUT /registries/{name}/packages/{package}/versions/{version}/yank': MAINTAINERS,
  'DELETE /registries/{name}/packages/{package}/versions/{version}/yank': MAINTAINERS,
  'POST /distributions/{codename}/retire': ADMINS,
  'POST /distributions/{codename}/reactivate': ADMINS,
  'GET /distributions/{codename}/packages': ANY,
  'POST /distributions/init': MAINTAINERS,
  'GET /artifacts/{name}/promote/targets': ANY,
  'POST /distributions/promote': MAINTAINERS,
  'POST /distributions/migrate': MAINTAINERS,
  // Statistics and dashboard
  'GET /dashboard/stats': ANY,
  'GET /dashboard/stats/enriched': ANY,
  'GET /dashboard/history': ANY,
  'GET /dashboard/gate': ANY,
  'GET /dashboard/summary': ANY,
  'GET /dashboard/events': ANY,
  'GET /downloads/stats': ANY,
  'GET /downloads/clients': ADMINS,
  // Settings (admin only)
  'GET /settings/': ADMINS,
  'PATCH /settings/': ADMINS,
  'POST /settings/test-webhook': ADMINS,
  'POST /settings/test-ldap': ADMINS,
  // Inventory
  'GET /inventory/summary': AUDITORS,
  'GET /inventory/clients': AUDITORS,
  'GET /inventory/clients/{id}': AUDITORS,
  'GET /inventory/clients/{id}/packages': AUDITORS,
  'GET /inventory/clients/{id}/updates': AUDITORS,
  'GET /inventory/clients/{id}/summary': AUDITORS,
  'GET /inventory/clients/{id}/scan/status': AUDITORS,
  'GET /inventory/scans': AUDITORS,
  'GET /inventory/cve': AUDITORS,
  'GET /inventory/compliance': AUDITORS,
  'POST /inventory/clients/{id}/scan': MAINTAINERS,
  'POST /inventory/clients/{id}/host-key/reset': ADMINS,
  'POST /backup/': ADMINS,
  'GET /backup/': ADMINS,
  'POST /backup/restore': ADMINS,
  'POST /backup/restore/undo': ADMINS,
  'GET /backup/{file_name}': ADMINS,
  'DELETE /backup/{file_name}': ADMINS,
  // Bundles for sites without a network
  'GET /bundles': MAINTAINERS,
  'POST /bundles': MAINTAINERS,
  'GET /bundles/{id}/download': MAINTAINERS,
  'POST /bundles/{id}/copy': MAINTAINERS,
  'DELETE /bundles/{id}': MAINTAINERS,
  'GET /bundles/sites': MAINTAINERS,
  'POST /bundles/sites': MAINTAINERS,
  'PUT /bundles/sites/{site}/key': ADMINS,
  'DELETE /bundles/sites/{site}': ADMINS,
  'GET /bundles/sites/{site}/preview': MAINTAINERS,
  'POST /bundles/receipts': MAINTAINERS,
  'POST /bundles/receipts/read': MAINTAINERS,
  'GET /bundles/senders': MAINTAINERS,
  'POST /bundles/senders': ADMINS,
  'DELETE /bundles/senders/{id}': ADMINS,
  'GET /bundles/senders/{id}/receipt': MAINTAINERS,
  'GET /bundles/media': MAINTAINERS,
  'POST /bundles/uploads': MAINTAINERS,
  'GET /bundles/uploads/{id}': MAINTAINERS,
  'PUT /bundles/uploads/{id}': MAINTAINERS,
  'DELETE /bundles/uploads/{id}': MAINTAINERS,
  'POST /bundles/inspect': MAINTAINERS,
  'POST /bundles/import': MAINTAINERS,
  // Health and metrics
  'GET /health': EVERYONE,
  'GET /health/live': EVERYONE,
  'GET /health/ready': EVERYONE,
  'GET /metrics': EVERYONE,
  // Other routes
  'POST /webhooks/github': EVERYONE,
  'POST /webhooks/kev': EVERYONE,
  'GET /internal/tenants': EVERYONE,
}

/** Routes that the specification names without a path, or that the contract adds. */
const OURS: Record<string, readonly (Role | '-')[]> = {
  // jobs: which ones somebody sees depends on their kinds
  'GET /jobs': ANY,
  'GET /jobs/{id}': ANY,
  'GET /jobs/{id}/events': ANY,
  'POST /jobs/{id}/cancel': ANY,
  'GET /logs/services': ADMINS,
  'GET /logs': ADMINS,
  'GET /logs/stream': ADMINS,
  'POST /support/bundle': ADMINS,
  // the desktop program asks before anybody is signed in, and believes the signature alone
  'GET /console/releases': EVERYONE,
  'GET /console/releases/{file_name}': EVERYONE,
  'POST /backup/{file_name}/drill': ADMINS,
  'POST /backup/{file_name}/preview': ADMINS,
  'POST /backup/targets/{place}/try': ADMINS,
  'POST /inventory/clients': ADMINS,
  'PATCH /inventory/clients/{id}': ADMINS,
  'DELETE /inventory/clients/{id}': ADMINS,
  'POST /inventory/clients/{id}/agent-token': ADMINS,
  'GET /inventory/clients/{id}/history': AUDITORS,
  'GET /inventory/compliance/rules': AUDITORS,
  'PUT /inventory/compliance/rules': ADMINS,
  'GET /inventory/ssh-key': ADMINS,
  'GET /inventory/export': AUDITORS,
  'GET /inventory/agent.sh': EVERYONE,
  'POST /inventory/report': EVERYONE,
  'GET /schedule': MAINTAINERS,
  'POST /schedule/{id}/run': ADMINS,
  'POST /upload/batch': UPLOADERS,
  'POST /security/policy/preview': ADMINS,
  'POST /security/packages/{name}/{version}/assign': MAINTAINERS,
  'GET /security/decisions': ANY,
  'GET /security/decisions/mine': ANY,
  'GET /security/decisions/unassigned': ANY,
  'GET /security/vulnerabilities/{cve}': ANY,
  'GET /auth/mfa/status': ANY,
  'DELETE /auth/users/{username}/mfa': ADMINS,
  'POST /auth/users/{username}/unlock': ADMINS,
  'POST /auth/logout': ANY,
  'POST /auth/refresh': ANY,
  'GET /auth/sessions': ANY,
  'DELETE /auth/sessions': ANY,
  'DELETE /auth/sessions/{id}': ANY,
  'GET /saved-filters': ANY,
  'POST /saved-filters': ANY,
  'PATCH /saved-filters/{id}': ANY,
  'DELETE /saved-filters/{id}': ANY,
  'GET /auth/users/{username}': ADMINS,
  'GET /auth/users/{username}/sessions': ADMINS,
  'DELETE /auth/users/{username}/sessions': ADMINS,
  'DELETE /auth/users/{username}/sessions/{id}': ADMINS,
  'GET /distributions/{codename}/setup': ANY,
  'GET /distributions/{codename}/compare': ANY,
  'GET /distributions/{codename}/generations': ANY,
  'POST /distributions/{codename}/rollback': MAINTAINERS,
  'GET /distributions/{codename}/documents': ANY,
  'PUT /distributions/{codename}/documents/{kind}': MAINTAINERS,
  'DELETE /distributions/{codename}/documents/{kind}': MAINTAINERS,
  'POST /distributions/{codename}/documents/copy': MAINTAINERS,
  'GET /distributions/{codename}/release': ANY,
  'PATCH /distributions/{codename}/release': MAINTAINERS,
  'GET /distributions/{codename}/retention': ANY,
  'PATCH /distributions/{codename}/retention': MAINTAINERS,
  'POST /distributions/{codename}/retention/preview': MAINTAINERS,
  'POST /distributions/{codename}/retention/run': MAINTAINERS,
  'POST /distributions/{codename}/pins': MAINTAINERS,
  'DELETE /distributions/{codename}/pins/{name}/{version}': MAINTAINERS,
  'GET /access/distributions': ADMINS,
  'PUT /access/distributions/{codename}': ADMINS,
  'GET /access/groups': ADMINS,
  'PUT /access/groups/{name}': ADMINS,
  'DELETE /access/groups/{name}': ADMINS,
  'GET /access/people/{username}': ADMINS,
  'PUT /access/people/{username}': ADMINS,
  'PUT /incoming/{codename}/{filename}': UPLOADERS,
  'GET /import/search': ANY,
  'GET /import/sync-status': ANY,
  'GET /import/sync-schedule': ANY,
  'POST /import/sync/start': MAINTAINERS,
  'POST /import/sync/start/{target}': MAINTAINERS,
  'POST /import/sync': MAINTAINERS,
  'POST /import/sync/{source_id}': MAINTAINERS,
  'POST /import/sources/{id}/sync': MAINTAINERS,
  'POST /import/sync-security': MAINTAINERS,
  'GET /import/security-updates': ANY,
  'GET /import/security-updates/available': ANY,
  'POST /import/security-updates/run': MAINTAINERS,
  'GET /import/security-updates/runs': ANY,
  'GET /import/security-updates/runs/{id}': ANY,
  'GET /import/sync/jobs': ANY,
  'GET /import/sync/jobs/active': ANY,
  'GET /import/sync/jobs/{id}': ANY,
  'POST /import/sync/jobs/{id}/cancel': MAINTAINERS,
  'GET /import/sync/jobs/{id}/stream': ANY,
  'GET /import/resolve/{name}': ANY,
  'POST /import/fetch': UPLOADERS,
  'POST /import/batch': UPLOADERS,
  'POST /import/packages': MAINTAINERS,
  'POST /import/analyze-dockerfile': UPLOADERS,
  'GET /import/groups': ANY,
  'DELETE /import/groups/{name}': ADMINS,
  'GET /import/mirror/sources': ANY,
  'POST /import/mirror/sources': MAINTAINERS,
  'PATCH /import/mirror/sources/{source_id}': MAINTAINERS,
  'GET /import/mirror/schedule': ANY,
  'POST /import/mirror/schedule': ADMINS,
  'POST /import/mirror/start/{source_id}': MAINTAINERS,
  'GET /import/mirror/jobs': ANY,
  'GET /import/mirror/jobs/{id}': ANY,
  'POST /import/mirror/jobs/{id}/cancel': MAINTAINERS,
  'GET /import/mirror/jobs/{id}/stream': ANY,
  'GET /import/mirror/distributions': ANY,
  'POST /import/mirror/distributions/{codename}/freeze': MAINTAINERS,
  'DELETE /import/mirror/distributions/{codename}/freeze': MAINTAINERS,
  'GET /import/mirror/distributions/{codename}/compare': ANY,
  'GET /import/sources': MAINTAINERS,
  'POST /import/sources': MAINTAINERS,
  'POST /import/sources/test': MAINTAINERS,
  'PATCH /import/sources/{id}': MAINTAINERS,
  'DELETE /import/sources/{id}': MAINTAINERS,
  'POST /import/sources/{id}/accept': ADMINS,
  'GET /import/keys': MAINTAINERS,
  'POST /import/keys': ADMINS,
  'PATCH /import/keys/{name}': ADMINS,
  'DELETE /import/keys/{name}': ADMINS,
  'GET /uploader-keys': AUDITORS,
  'POST /uploader-keys': ADMINS,
  'DELETE /uploader-keys/{name}': ADMINS,
  'GET /image-keys': AUDITORS,
  'POST /image-keys': ADMINS,
  'DELETE /image-keys/{name}': ADMINS,
  'GET /license': ANY,
  'PUT /license': ADMINS,
  'GET /security/engines': ANY,
  'GET /security/grype/status': ANY,
  'GET /security/feeds/status': ANY,
  'POST /security/database': ADMINS,
  'POST /security/database/medium': ADMINS,
  'POST /security/database/fetch': ADMINS,
  'POST /settings/test-email': ADMINS,
  'POST /settings/test-oidc': ADMINS,
  'GET /auth/oidc': EVERYONE,
  'GET /auth/oidc/login': EVERYONE,
  'GET /auth/oidc/callback': EVERYONE,
  'POST /auth/oidc/exchange': EVERYONE,
  'GET /artifacts/audit/integrity': AUDITORS,
  'GET /artifacts/audit/export': AUDITORS,
  'GET /artifacts/audit/export/archive': AUDITORS,
  'GET /artifacts/audit/export/user/{username}': AUDITORS,
  'GET /settings/schema': ADMINS,
  'GET /settings/gpg': ADMINS,
  'POST /settings/gpg/export': ADMINS,
  'GET /settings/next-sync': ADMINS,
  'POST /settings/run-retention': ADMINS,
  'GET /disk': AUDITORS,
  'GET /host/history': AUDITORS,
  'POST /disk/reserve/give-back': ADMINS,
  'GET /machine': ADMINS,
  'POST /machine/network': ADMINS,
  'POST /machine/network/keep': ADMINS,
  'POST /machine/time': ADMINS,
  'POST /machine/certificate': ADMINS,
  'POST /machine/certificate/own': ADMINS,
  'POST /machine/certificate/acme': ADMINS,
  'POST /machine/services/{unit}/restart': ADMINS,
  'POST /machine/updates': ADMINS,
  'POST /machine/updates/look': ADMINS,
  'POST /machine/updates/install': ADMINS,
  'POST /machine/updates/cancel': ADMINS,
  'POST /machine/updates/back': ADMINS,
  'POST /machine/window': ADMINS,
  'POST /machine/remote-log': ADMINS,
  'POST /machine/restart': ADMINS,
  'POST /machine/power-off': ADMINS,
  'GET /setup/preflight': EVERYONE,
  'POST /settings/gpg/generate': ADMINS,
  'POST /settings/gpg/import': ADMINS,
  'GET /settings/gpg/export': ADMINS,
}

/**
 * What the community edition answers with 402: the specification's bills, promotion and scoped access, and logins that
 * are kept elsewhere.
 */
const ENTERPRISE = new Set([
  ...Object.keys(api).filter(key => key.includes(' /inventory/')),
  'GET /sbom/export',
  'GET /sbom/preview',
  'GET /sbom/{name}/{version}',
  'POST /distributions/promote',
  'POST /distributions/migrate',
  'PUT /access/distributions/{codename}',
  'PUT /access/groups/{name}',
  'DELETE /access/groups/{name}',
  'PUT /access/people/{username}',
  'POST /settings/test-ldap',
  'POST /settings/test-oidc',
  'POST /settings/test-email',
  'GET /auth/oidc/login',
  'GET /auth/oidc/callback',
  'POST /auth/oidc/exchange',
])

/**
 * Where a token that is limited to distributions is asked which ones it touches; each has tests of its own. In all
 * other changes it has no part.
 */
const BY_DISTRIBUTION = new Set([
  'POST /import/security-updates/run',
  'POST /security/review-queue/preview',
  'POST /security/review-queue/decide',
  'POST /security/packages/{name}/{version}/decide',
  'POST /security/packages/{name}/{version}/assign',
  'POST /security/packages/{name}/{version}/rescan',
  'POST /security/packages/{name}/{version}/quarantine',
  'POST /security/packages/{name}/{version}/vex/{sha256}/accept',
  'DELETE /security/packages/{name}/{version}/vex/{sha256}',
  'DELETE /artifacts/{name}',
  'DELETE /artifacts/{name}/{version}',
  'POST /distributions/init',
  'POST /distributions/promote',
  'POST /import/analyze-dockerfile',
  'POST /import/batch',
  'POST /import/fetch',
  'POST /import/packages',
  'POST /distributions/migrate',
  'POST /bundles',
  'POST /bundles/import',
  'PUT /registries/{name}/packages/{package}/tags/{tag}',
  'DELETE /registries/{name}/packages/{package}/tags/{tag}',
  'PUT /registries/{name}/packages/{package}/versions/{version}/mark',
  'DELETE /registries/{name}/packages/{package}/versions/{version}/mark',
  'PUT /registries/{name}/packages/{package}/versions/{version}/yank',
  'PUT /registries/{name}/packages/{package}/versions/{version}/waiver',
  'DELETE /registries/{name}/packages/{package}/versions/{version}/waiver',
  'DELETE /registries/{name}/packages/{package}/versions/{version}/yank',
])

/** What people and machines do to be read of: it goes on while a licence that has ended is renewed. */
const GOES_ON = /^POST \/(auth|inventory\/report)/

/** Limits a minute, as the specification's table says them. */
const LIMITS: Record<string, number> = {
  'POST /auth/token': 10,
  'POST /upload/': 20,
  'POST /upload/stream': 20,
  'POST /upload/batch': 20,
  ...Object.fromEntries(
    Object.keys(api)
      .filter(key => key.startsWith('POST /distributions/'))
      .map(key => [key, 5]),
  ),
}

// each row with its access, limit and status as they are, and a handler that only says it was reached
const reached: BoundRoute[] = Object.entries(api).map(([key, real]) => {
  const { summary, access, limit, root, also, scoped, edition }: Row = real
  const row: Omit<Row, 'reply'> = {
    summary,
    access,
    ...(limit === undefined ? {} : { limit }),
    ...(root === undefined ? {} : { root }),
    ...(also === undefined ? {} : { also }),
    ...(scoped === undefined ? {} : { scoped }),
    ...(edition === undefined ? {} : { edition }),
  }
  return { key, row: { ...row, reply: {} as never }, handle: () => ({ reached: key }) }
})

/** What else can be sent in place of an access token. Each is an admin's, so that nothing but its kind keeps it out. */
interface Odd {
  setup: string
  challenge: string
  deactivated: string
  ended: string
  uploads: string
  jammy: string
}

let it: TestAccounts
/** The same service in the community edition, and in the fortnight after its licence ended. */
let community: TestApp
let overdue: TestApp
const sessions = new Map<Role, string>()
const tokens = new Map<Role, string>()
const odd: Odd = { setup: '', challenge: '', deactivated: '', ended: '', uploads: '', jammy: '' }

async function makeOdd(): Promise<void> {
  const by = { who: { kind: 'user', name: 'a-admin', role: 'admin', credential: '' }, ip: '' } as const
  odd.uploads = (await it.apiTokens.create({ name: 'up', role: 'admin', scope: { uploadOnly: true } }, by)).token
  odd.jammy = (
    await it.apiTokens.create({ name: 'jammy', role: 'admin', scope: { distributions: ['jammy'] } }, by)
  ).token
  for (const name of ['setup', 'challenge', 'deactivated', 'ended']) await it.user(name, 'admin')
  odd.deactivated = await it.session('deactivated')
  await it.stock.db.query(`update account set active = false where username = 'deactivated'`)
  odd.ended = await it.session('ended')
  await it.auth.sessions.end(
    'ended',
    (await it.auth.sessions.list('ended')).map(({ id }) => id),
  )
  await it.stock.db.query(`update account set mfa_secret = 'sealed' where username = 'challenge'`)
  await it.settings.patch({ mfa_policy: { enforce_admin_mfa: true, grace_period_days: 0 } })
  for (const name of ['setup', 'challenge'] as const) {
    const entered = await it.auth.login.login({ username: name, password: PASSWORD, ip: '', agent: '' })
    expect(entered.kind).toBe(name)
    odd[name] = entered.token
  }
}
beforeAll(async () => {
  it = await startAccounts({ routes: reached })
  const same = { routes: reached, authenticate: it.authenticate }
  community = await startApp({ ...same, enterprise: () => 'nothing' })
  overdue = await startApp({ ...same, enterprise: () => 'reads' })
  for (const role of ROLES) {
    await it.user(`a-${role}`, role)
    sessions.set(role, await it.session(`a-${role}`))
    const { token } = await it.apiTokens.create(
      { name: `ci-${role}`, role },
      { who: { kind: 'user', name: 'a-admin', role: 'admin', credential: '' }, ip: '' },
    )
    tokens.set(role, token)
  }
  await makeOdd()
})
afterAll(async () => {
  await Promise.all([it.close(), community.close(), overdue.close()])
})

const pathOf = (key: string, row: Row, codename = 'some-thing'): string =>
  (row.root === true ? '' : '/api/v1') +
  key
    .slice(key.indexOf(' ') + 1)
    .replace('{codename}', codename)
    .replace(/\{\w+\}/g, 'some-thing')
const statusOf = async (
  key: string,
  token: string | undefined,
  codename?: string,
  app: TestApp = it.app,
): Promise<number> => {
  const answer = await app.ask(key.slice(0, key.indexOf(' ')), pathOf(key, api[key as keyof typeof api], codename), {
    token,
    headers: freshAddress(),
  })
  if (answer.status === 402)
    expect(answer.json().detail).toEqual({
      edition: 'community',
      feature: 'enterprise',
      message: expect.any(String) as string,
      upgrade_url: expect.any(String) as string,
      contact: expect.any(String) as string,
    })
  if (answer.status === 200) expect(answer.json()).toEqual({ reached: key })
  return answer.status
}

test('every route has a line here, and every line a route', () => {
  expect(Object.keys({ ...SPEC, ...OURS }).sort()).toEqual(Object.keys(api).sort())
})

describe.each(Object.entries({ ...SPEC, ...OURS }))('%s', (key, allowed) => {
  test('refuses callers without a credential, and answers each role with either kind of credential', async () => {
    const found: Record<string, number> = { '-': await statusOf(key, undefined) }
    const expected: Record<string, number> = { '-': allowed.includes('-') ? 200 : 401 }
    for (const role of ROLES) {
      found[`${role} by session`] = await statusOf(key, sessions.get(role))
      found[`${role} by token`] = await statusOf(key, tokens.get(role))
      expected[`${role} by session`] = expected[`${role} by token`] = allowed.includes(role) ? 200 : 403
    }
    expect(found).toEqual(expected)
  })

  test('the community edition answers 402 to those who may, where the specification says so, and changes nothing else', async () => {
    const [found, expected]: Record<string, number>[] = [{}, {}]
    for (const who of EVERYONE) {
      const token = who === '-' ? undefined : sessions.get(who)
      const isLocked = ENTERPRISE.has(key) && (allowed.includes(who) || allowed.includes('-'))
      const otherwise = await statusOf(key, token)
      Object.assign(found as object, {
        [who]: await statusOf(key, token, undefined, community),
        [`${who}, licence overdue`]: await statusOf(key, token, undefined, overdue),
      })
      Object.assign(expected as object, {
        [who]: isLocked ? 402 : otherwise,
        [`${who}, licence overdue`]: isLocked && !key.startsWith('GET ') && !GOES_ON.test(key) ? 402 : otherwise,
      })
    }
    expect(found).toEqual(expected)
  })

  test('an invalid token is good for public routes only; a setup token also for setting up a second factor', async () => {
    const closed = allowed.includes('-') ? 200 : 401
    for (const token of ['', 'Basic', `svc_${'x'.repeat(43)}`, odd.challenge, odd.deactivated, odd.ended])
      expect(await statusOf(key, token)).toBe(closed)
    expect(await statusOf(key, odd.setup)).toBe(
      key === 'POST /auth/mfa/setup' || key === 'POST /auth/mfa/confirm' ? 200 : closed,
    )
  })

  test('an API token with limits does no more than its limits, whatever its role', async () => {
    // what comes with a package is uploaded beside it
    const isUpload = key.startsWith('POST /upload/') || key === 'POST /security/packages/{name}/{version}/vex'
    const isIncoming = key.startsWith('PUT /incoming/')
    const isOpen = allowed.includes('-') || isUpload || key === 'GET /auth/me'
    expect(await statusOf(key, odd.uploads)).toBe(isOpen || isIncoming ? 200 : 403)
    expect(await statusOf(key, odd.jammy)).toBe(
      isOpen || BY_DISTRIBUTION.has(key) || (key.startsWith('GET ') && allowed === ANY) ? 200 : 403,
    )
    // a path that names the distribution is asked about it before the handler is
    if (key.includes('{codename}')) expect(await statusOf(key, odd.jammy, 'jammy')).toBe(200)
  })
})

describe.each(Object.entries(LIMITS))('%s', (key, perMinute) => {
  test(`${perMinute} a minute from one address, then 429, also with another credential; other addresses go on`, async () => {
    const headers = freshAddress()
    const ask = (token: string | undefined, from = headers) =>
      it.app.ask('POST', pathOf(key, api[key as keyof typeof api]), { token, headers: from })
    for (let n = 0; n < perMinute; n++) expect((await ask(sessions.get('admin'))).status).toBe(200)
    for (const token of [sessions.get('admin'), tokens.get('admin'), undefined]) {
      const answer = await ask(token)
      expect([answer.status, answer.json().detail]).toMatchObject([
        429,
        { error: 'rate_limit_exceeded', limit: perMinute },
      ])
      expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1)
    }
    expect((await ask(sessions.get('admin'), freshAddress())).status).toBe(200)
  })
})
