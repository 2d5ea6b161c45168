import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { generateSync } from 'otplib/functional'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { issueLicense } from '../../server/core/license.ts'
import { ADMIN, nextAddress, startDaemon, type Daemon } from '../support/daemon.ts'
import { CLIENT, startProvider, type TestProvider } from '../support/oidc.ts'
import { startSmtp, textOf, type TestSmtp } from '../support/smtp.ts'
import { axeProblems, launch, noBrowser, openPage, tooWide } from './support/browser.ts'
import { PASSWORD, expectFine, givePassword, signInAt, visits } from './support/visits.ts'

const VENDOR_SECRET = 'the vendor secret of these tests'
/** The code of this step, or of the next one: both are taken, and each only once. */
const code = (secret: string, offset: 0 | 1 = 0): string => generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + offset * 30 })
const wrongCode = (secret: string): string => ['000000', '111111', '222222', '333333', '444444'].find(guess => [-2, -1, 0, 1, 2].every(n => generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + n * 30 }) !== guess)) ?? ''

describe.skipIf(noBrowser !== undefined)('identity in the console', () => {
  let daemon: Daemon
  let smtp: TestSmtp
  let provider: TestProvider
  let admin: string
  let page: Page
  const visit = visits(() => daemon.url, opened => { page = opened })

  beforeAll(async () => {
    daemon = await startDaemon({ env: { LICENSE_VENDOR_SECRET: VENDOR_SECRET } })
    smtp = await startSmtp({ mode: 'plain' })
    provider = await startProvider(`${daemon.url}/api/v1/auth/oidc/callback`)
    admin = await daemon.setupAdmin()
    await patch({ app_url: daemon.url, notifications: { allow_private_hosts: '127.0.0.1' }, email: { enabled: true, smtp_host: '127.0.0.1', smtp_port: smtp.port, use_tls: false, from_address: 'gatehouse@example.test', to_addresses: 'ops@example.test' } })
  })
  afterAll(async () => {
    await Promise.all([daemon?.close(), smtp?.close(), provider?.close()])
  })

  async function patch(body: Record<string, unknown>): Promise<void> {
    expect((await daemon.call('PATCH', '/settings/', { token: admin, body })).status).toBe(200)
  }
  async function addUser(username: string, role = 'maintainer', more: Record<string, unknown> = {}): Promise<string> {
    expect((await daemon.call('POST', '/auth/users', { token: admin, body: { username, password: PASSWORD, role, ...more } })).status).toBe(201)
    return session(username)
  }
  const session = async (username: string): Promise<string> => (await daemon.call<{ access_token: string }>('POST', '/auth/token', { body: { username, password: PASSWORD } })).body.access_token
  /** A user with a second factor, whose set-up used the code of this step. */
  async function guarded(username: string, role?: string): Promise<{ secret: string; codes: string[] }> {
    const token = await addUser(username, role)
    const { body: { secret } } = await daemon.call<{ secret: string }>('POST', '/auth/mfa/setup', { token })
    const { body } = await daemon.call<{ recovery_codes: string[] }>('POST', '/auth/mfa/confirm', { token, body: { totp_code: code(secret) } })
    return { secret, codes: body.recovery_codes }
  }
  const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name })
  async function password(username: string, at = '#/dashboard', text?: string): Promise<void> {
    await page.goto(`${daemon.url}/${at}`)
    await givePassword(page, username, text)
  }
  const signIn = (username: string, at = '#/dashboard', text?: string): Promise<void> => signInAt(page, `${daemon.url}/${at}`, username, text)
  const asAdmin = (at: string): Promise<void> => signIn(ADMIN.username, at)
  const isFine = (): Promise<void> => expectFine(page)

  test('a second factor is switched on in the profile, and its recovery codes are shown once: to copy, print and save', async () => {
    await addUser('ada')
    await signIn('ada', '#/profile')
    await page.getByRole('button', { name: 'Set up the second factor' }).click()
    const secret = (await page.getByRole('region', { name: 'the key' }).textContent() ?? '').replace(/\s/g, '')
    await page.getByRole('img', { name: /QR code/ }).waitFor()
    await page.getByLabel('Code from the app').pressSequentially(wrongCode(secret))
    await page.getByText('This is not the code that the secret makes now.').waitFor()
    await isFine()
    await page.getByLabel('Code from the app').pressSequentially(code(secret)) // the sixth digit sends it
    await page.getByRole('heading', { name: 'Keep these 8 recovery codes' }).waitFor()
    const codes = await page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem').allTextContents()
    expect(codes).toHaveLength(8)
    await isFine()
    const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as file' }).click()])
    expect(saved.suggestedFilename()).toBe('gatehouse-recovery-codes-ada.txt')
    const file = await readFile(await saved.path(), 'utf8')
    for (const one of codes) expect(file).toContain(one)
    await page.emulateMedia({ media: 'print' })
    expect(await page.locator('.sheet').isVisible()).toBe(true)
    await page.emulateMedia({ media: null })
    await page.keyboard.press('Escape') // closes nothing: they would be lost
    expect(await page.getByRole('button', { name: 'Done' }).getAttribute('aria-disabled')).toBe('true')
    await page.getByLabel('I keep them where my phone is not').check()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText('8 of 8 recovery codes are left.').waitFor()
    expect((await daemon.call('POST', '/auth/token', { body: { username: 'ada', password: PASSWORD } })).body).toMatchObject({ mfa_required: true })
  })

  test('the second step takes a pasted code with blanks, explains a wrong one, and signs in at the sixth digit', async () => {
    const { secret } = await guarded('bob')
    await password('bob', '#/packages')
    await heading('Code from your authenticator').waitFor()
    const field = page.getByLabel('Six-digit code')
    expect(await field.getAttribute('autocomplete')).toBe('one-time-code')
    await page.locator('[name=totp]:focus').waitFor()
    await field.pressSequentially(wrongCode(secret))
    await page.getByRole('alert').getByText('The code is wrong or was used before.').waitFor()
    await isFine()
    await field.fill(code(secret, 1).replace(/(...)/, '$1 ')) // as it is pasted from an app
    await heading('Packages').waitFor()
  })

  test('the second step can be left, and begins with the password again', async () => {
    await guarded('carl')
    await password('carl')
    await page.getByRole('button', { name: 'Back' }).click()
    await heading('Sign in').waitFor()
    expect(await page.getByLabel('User name').inputValue()).toBe('carl')
    expect(await page.getByLabel('Password', { exact: true }).inputValue()).toBe('')
  })

  test('a recovery code signs in once, a few left are a warning, and a new set replaces them', async () => {
    const { codes } = await guarded('dora')
    const answer = async (text: string): Promise<void> => {
      await password('dora', '#/profile')
      await page.getByRole('button', { name: 'Use a recovery code' }).click()
      await page.getByLabel('Recovery code').fill(text)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    }
    await answer((codes[0] ?? '').toUpperCase().replaceAll('-', ' '))
    await page.getByText('7 of 8 recovery codes are left.').waitFor()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await answer(codes[0] ?? '')
    await page.getByText('This recovery code is wrong or was used before.').waitFor()
    for (const used of codes.slice(1, 6)) {
      const { body } = await daemon.call<{ mfa_token: string }>('POST', '/auth/token', { body: { username: 'dora', password: PASSWORD } })
      await daemon.call('POST', '/auth/mfa/authenticate', { body: { mfa_token: body.mfa_token, recovery_code: used } })
    }
    await page.reload() // the second step is open
    await answer(codes[6] ?? '')
    await page.getByText('Only 1 recovery code left.').waitFor()
    await page.getByRole('button', { name: 'New recovery codes' }).click()
    await page.getByLabel('Your password', { exact: true }).fill('not-the-Password-1')
    await page.getByRole('button', { name: 'Make new codes' }).click()
    await page.getByText('The password is wrong, or the account is locked').waitFor()
    await isFine()
    await page.getByLabel('Your password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Make new codes' }).click()
    await page.getByLabel('I keep them where my phone is not').check()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText('8 of 8 recovery codes are left.').waitFor()
    await page.getByRole('button', { name: 'Switch off' }).click()
    await page.getByLabel('Your password', { exact: true }).fill(PASSWORD)
    await page.getByRole('dialog').getByRole('button', { name: 'Switch off' }).click()
    await page.getByRole('button', { name: 'Set up the second factor' }).waitFor()
    expect((await daemon.call('POST', '/auth/token', { body: { username: 'dora', password: PASSWORD } })).body).toHaveProperty('access_token')
  })

  test('an admin hears on every screen how many days are left, and afterwards sets the second factor up to get in', async () => {
    await addUser('eve', 'admin')
    await patch({ mfa_policy: { enforce_admin_mfa: true, grace_period_days: 7 } })
    try {
      await signIn('eve', '#/packages')
      await page.getByText('7 days left to set up your second factor.').waitFor()
      await isFine()
      await page.getByRole('link', { name: 'Set it up' }).click()
      await page.getByText('Admins need a second factor here. 7 days left to set it up').waitFor()
      await page.getByRole('button', { name: 'Sign out', exact: true }).click()

      await patch({ mfa_policy: { grace_period_days: 0 } })
      await password('eve', '#/packages')
      await heading('Set up the second factor').waitFor()
      const secret = (await page.getByRole('region', { name: 'the key' }).textContent() ?? '').replace(/\s/g, '')
      await isFine()
      await page.getByLabel('Code from the app').pressSequentially(code(secret))
      await heading('Keep these 8 recovery codes').waitFor()
      expect(await page.getByRole('button', { name: 'Open the console' }).getAttribute('aria-disabled')).toBe('true')
      await isFine()
      await page.getByLabel('I keep them where my phone is not').check()
      await page.getByRole('button', { name: 'Open the console' }).click()
      await heading('Packages').waitFor()
      await page.goto(`${daemon.url}/#/profile`)
      await page.getByText('8 of 8 recovery codes are left.').waitFor()
      expect(await page.getByRole('button', { name: 'Switch off' }).getAttribute('aria-disabled')).toBe('true') // the policy asks for it
    } finally {
      await patch({ mfa_policy: { enforce_admin_mfa: false, grace_period_days: 7 } })
    }
  })

  test('the profile lists own sessions, marks this one, and ends one or all others', async () => {
    const [one, two, three] = [await addUser('finn'), await session('finn'), await session('finn')]
    const works = async (token: string): Promise<number> => (await daemon.call('GET', '/auth/me', { token })).status
    await signIn('finn', '#/profile')
    const rows = page.getByRole('region', { name: 'Sessions' }).getByRole('row')
    await rows.filter({ hasText: 'This one' }).getByText('Chrome on Linux').waitFor()
    expect(await rows.count()).toBe(5)
    await rows.nth(2).getByRole('button', { name: /^Sign out/ }).click()
    await page.getByText('Signed out there').waitFor()
    await rows.nth(4).waitFor({ state: 'detached' })
    expect((await Promise.all([one, two, three].map(works))).sort()).toEqual([200, 200, 401])
    await isFine()
    await page.getByRole('button', { name: 'Sign out everywhere else' }).click()
    await page.getByText('2 sessions ended.').waitFor()
    expect(await Promise.all([one, two, three].map(works))).toEqual([401, 401, 401])
    await page.getByRole('button', { name: 'Sign out', exact: true }).waitFor() // and this one goes on
  })

  test('signing out ends the session on the server as well', async () => {
    await addUser('gail')
    await signIn('gail', '#/profile')
    const token = await page.evaluate(() => sessionStorage.getItem('gatehouse.token')) ?? ''
    const [answer] = await Promise.all([page.waitForResponse(/auth\/logout/), page.getByRole('button', { name: 'Sign out', exact: true }).click()])
    expect([answer.status(), (await daemon.call('GET', '/auth/me', { token })).status]).toEqual([200, 401])
    await heading('Sign in').waitFor()
    expect(await page.getByText('Your session ended').count()).toBe(0) // it was ended on purpose
  })

  test('a forgotten password is replaced through the mailed link, once', async () => {
    await addUser('hugo', 'reader', { email: 'hugo@example.test' })
    await page.getByRole('button', { name: 'Forgot your password?' }).click()
    await page.getByLabel('User name or e-mail').fill('hugo@example.test')
    await page.getByRole('button', { name: 'Send the link' }).click()
    await page.getByText('Nothing arrives?').waitFor()
    await isFine()
    const mail = await smtp.next(one => one.to.includes('hugo@example.test'))
    const link = /http:\S+#\/reset-password\?token=[\w-]+/.exec(textOf(mail))?.[0] ?? ''
    await page.goto(link)
    await heading('Choose a new password').waitFor()
    await page.getByLabel('New password', { exact: true }).fill('weak')
    expect(await page.getByRole('button', { name: 'Set the password' }).getAttribute('aria-disabled')).toBe('true')
    await isFine()
    await page.getByLabel('New password', { exact: true }).fill('Quite-Another-9')
    await page.getByRole('textbox', { name: 'New password again' }).fill('Quite-Another-9')
    await page.getByRole('button', { name: 'Set the password' }).click()
    await page.getByText('Your new password is set. Sign in with it.').waitFor()
    expect(page.url()).not.toContain('token')
    await signIn('hugo', '#/packages', 'Quite-Another-9')
    await page.goto(link)
    await page.getByLabel('New password', { exact: true }).fill('And-Another-10')
    await page.getByRole('textbox', { name: 'New password again' }).fill('And-Another-10')
    await page.getByRole('button', { name: 'Set the password' }).click()
    await page.getByText('This reset link is used').waitFor()
    await page.getByRole('button', { name: 'Ask for a new link' }).click()
    await heading('Forgot your password?').waitFor() // also when somebody is signed in: whoever asks wants another password
  })

  test('single sign-on goes through the provider and comes back to where one was; a refusal is said in words', async () => {
    await patch({ oidc: { enabled: true, label: 'Sign in with Nordwerk', issuer: provider.issuer, client_id: CLIENT.id, client_secret: CLIENT.secret, scopes: 'openid profile email groups', group_maintainer: 'repo-maintainers', default_role: 'none' } })
    provider.person = { sub: 'ida-1', preferred_username: 'ida', name: 'Ida Berg', email: 'ida@example.test', groups: ['repo-maintainers'] }
    await page.goto(`${daemon.url}/#/packages?q=curl`)
    await page.reload()
    await page.getByRole('link', { name: 'Sign in with Nordwerk' }).waitFor()
    await isFine()
    await page.getByRole('link', { name: 'Sign in with Nordwerk' }).click()
    await heading('Packages').waitFor()
    expect(new URL(page.url()).hash).toBe('#/packages?q=curl')
    await page.goto(`${daemon.url}/#/profile`)
    await page.getByText('There is no password here').waitFor()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()

    provider.person = { sub: 'jon-1', preferred_username: 'jon', name: 'Jon', groups: [] }
    const other = await openPage(visit.browser, daemon.url, { address: nextAddress() })
    await other.page.getByRole('link', { name: 'Sign in with Nordwerk' }).click()
    await other.page.getByText('You are in none of the groups that have a role here.').waitFor()
    expect(new URL(other.page.url()).hash).toBe('#/login')
    await other.page.goto(`${daemon.url}/#/login?sso=${'a'.repeat(43)}`)
    await other.page.reload()
    await other.page.getByText('This login is over').waitFor()
    await other.context.close()
  })

  test('an admin sees who has a second factor and where accounts come from, and frees somebody who lost the phone', async () => {
    await guarded('kim')
    await asAdmin('#/users')
    const row = page.getByRole('row', { name: /kim/ })
    await row.getByText('On', { exact: true }).waitFor()
    await isFine()
    await row.getByRole('button', { name: 'Reset the second factor of kim' }).click()
    await page.getByText('Make sure that it is really kim who asks.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Reset the second factor' }).click()
    await row.getByText('Off', { exact: true }).waitFor()
    expect((await daemon.call('POST', '/auth/token', { body: { username: 'kim', password: PASSWORD } })).body).toHaveProperty('access_token')
    expect(await page.getByRole('row', { name: /admin/ }).first().getByRole('button', { name: /Reset the second factor/ }).getAttribute('aria-disabled')).toBe('true')
    await page.getByRole('link', { name: 'Roles' }).click()
    await page.getByText('An API token never may more than whoever made it.').waitFor()
    await isFine()
  })

  test('an API token can be limited to uploads in some distributions, and says when it ends soon', async () => {
    await asAdmin('#/users?tab=tokens')
    await page.getByRole('button', { name: 'Create token' }).first().click()
    await page.getByLabel('Name').fill('ci-release')
    await page.getByLabel('Only some distributions').check()
    await page.getByRole('dialog').getByLabel('jammy').check()
    await isFine()
    await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click()
    await page.getByText('This is the only time the token is shown.').waitFor()
    const token = await page.getByRole('region', { name: 'the token' }).textContent() ?? ''
    await page.getByRole('dialog').getByText('uploads only in jammy').waitFor()
    await page.getByRole('button', { name: 'I have copied it' }).click()
    await page.getByRole('row', { name: /ci-release/ }).getByText('uploads only in jammy').waitFor()
    expect((await daemon.call('GET', '/auth/me', { token })).body).toMatchObject({ scopes: { distributions: ['jammy'], upload_only: true } })
    await daemon.call('POST', '/auth/api-tokens', { token: admin, body: { name: 'nightly', role: 'reader', expires_days: 3 } })
    await page.reload()
    await page.getByRole('row', { name: /nightly/ }).getByText('expires soon').waitFor()
    await page.getByText('ends within 14 days.').waitFor()
    await isFine()
  })

  test('settings: a change shows what it was and is saved; a refused value is shown at its field; a secret stays unless typed', async () => {
    await asAdmin('#/settings?section=validation')
    const size = page.getByLabel('Max upload size')
    await size.fill('0')
    await page.locator('.error').getByText('A whole number from 1 to 16,384.').waitFor()
    expect(await page.getByRole('button', { name: 'Save', exact: true }).getAttribute('aria-disabled')).toBe('true')
    await size.fill('700')
    await page.getByText('Was 500 MB.').waitFor()
    await page.getByText('1 unsaved change').waitFor()
    await isFine()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Settings saved').waitFor()
    const stored = async (): Promise<Record<string, Record<string, unknown>>> => (await daemon.call<Record<string, Record<string, unknown>>>('GET', '/settings/', { token: admin })).body
    expect((await stored()).validation?.max_upload_size_mb).toBe(700)

    await page.getByRole('link', { name: 'General' }).click()
    await page.getByLabel('Address of this console').fill('no address')
    await page.getByRole('link', { name: 'Mail' }).click()
    await page.getByText('2 unsaved changes').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.locator('[data-path=app_url] .error').getByText('It must be an address').waitFor() // and the section with the fault is open
    expect(await page.getByLabel('Address of this console').getAttribute('aria-invalid')).toBe('true')
    expect((await stored()).app_url).toBe(daemon.url)
    await isFine()
    await page.getByRole('button', { name: 'Discard' }).click()

    await page.getByRole('link', { name: 'Mail' }).click()
    const secret = page.getByLabel('SMTP password', { exact: true })
    await secret.fill('hunter-Two')
    await page.getByLabel('From address').fill('packages@example.test')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('It is set, and stays as it is unless you type another one.').waitFor()
    expect([await secret.inputValue(), await secret.getAttribute('placeholder'), (await stored()).email?.smtp_password]).toEqual(['', '***', '***'])
    await page.getByRole('button', { name: 'Remove it' }).click()
    await page.getByText('Will be removed.').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Will be removed.').waitFor({ state: 'detached' })
    expect((await stored()).email?.smtp_password).toBe('')
  })

  test('settings are searched by word, and a search without a hit says so', async () => {
    await asAdmin('#/settings')
    await page.getByRole('searchbox', { name: 'Search the settings' }).fill('grace')
    await page.getByLabel('Grace period').waitFor()
    expect(await page.locator('[data-path]').count()).toBe(1)
    await page.getByRole('searchbox', { name: 'Search the settings' }).fill('nothing of this name')
    await page.getByText('No setting is called').waitFor()
    await isFine()
  })

  test('a directory that cannot be reached is shown at the step that failed; the test mail arrives and says who took it', async () => {
    await asAdmin('#/settings?section=ldap')
    await page.getByLabel('Host', { exact: true }).fill('127.0.0.1')
    await page.getByLabel('Port', { exact: true }).fill('1')
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    const steps = page.getByRole('list', { name: 'Try the directory' })
    await steps.getByRole('listitem').filter({ hasText: 'The server is reached' }).getByLabel('Failed').waitFor()
    await steps.getByText('The directory 127.0.0.1:1 cannot be used').waitFor()
    await isFine()
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('link', { name: 'Mail', exact: true }).click()
    await page.getByLabel('To', { exact: true }).fill('me@example.test')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByRole('list', { name: 'Send a test mail' }).getByText('me@example.test').waitFor()
    await smtp.next(mail => mail.to.includes('me@example.test'))
    await page.getByRole('link', { name: 'Single sign-on' }).click()
    await page.getByLabel('Issuer').fill(provider.issuer)
    await page.getByLabel('Client ID').fill(CLIENT.id)
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByRole('region', { name: 'the redirect address' }).getByText('/api/v1/auth/oidc/callback').waitFor()
    await isFine()
  })

  test('a licence key is checked before it is taken, and says to whom and until when', async () => {
    await asAdmin('#/settings?section=license')
    await page.getByText('No licence key is set.').waitFor()
    await page.getByLabel('Licence key').fill('no key at all')
    await page.getByRole('button', { name: 'Set the key' }).click()
    await page.getByText('The key is no licence of this vendor').waitFor()
    await isFine()
    const ends = new Date(Date.now() + 10 * 86_400_000).toISOString()
    await page.getByLabel('Licence key').fill(issueLicense({ id: randomUUID(), issued_to: 'Nordwerk', issued_at: new Date().toISOString(), expires_at: ends }, VENDOR_SECRET))
    await page.getByRole('button', { name: 'Set the key' }).click()
    await page.getByText('The licence ends soon.').waitFor()
    await page.getByText(`The licence ends on ${ends.slice(0, 10)}.`).waitFor()
    await page.getByRole('button', { name: 'Take the key away' }).click()
    await page.getByRole('button', { name: 'Yes, take it away' }).click()
    await page.getByText('No licence key is set.').waitFor()
  })

  test('who is no admin reads that settings are for admins', async () => {
    await addUser('lou', 'auditor')
    await signIn('lou', '#/settings')
    await page.getByText('Settings are for admins.').waitFor()
    expect(await page.getByText('Needs admin. You are auditor.').count()).toBeGreaterThan(0)
  })

  test('without an answer the screens say so and offer to try again', async () => {
    await asAdmin('#/packages')
    await page.route('**/api/v1/settings/**', route => route.abort('connectionrefused'))
    await page.route('**/api/v1/auth/sessions', route => route.abort('connectionrefused'))
    await page.goto(`${daemon.url}/#/settings`)
    await page.getByText('The server does not answer.').waitFor()
    await page.unroute('**/api/v1/settings/**')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByLabel('Address of this console').waitFor()
    await page.goto(`${daemon.url}/#/profile`)
    await page.getByText('The server does not answer.').waitFor()
  })

  test.each([[360, 'dark'], [1360, 'light']] as const)('at %d px, %s, nothing is too wide and axe finds nothing', async (width, theme) => {
    const narrow = await openPage(visit.browser, daemon.url, { width, height: 740, theme, address: nextAddress() })
    const found: string[] = []
    const look = async (name: string): Promise<void> => {
      found.push(...(await axeProblems(narrow.page)).map(problem => `${name} ${problem}`))
      if (await tooWide(narrow.page) > 0) found.push(`${name} is too wide`)
    }
    await narrow.page.getByLabel('User name').waitFor()
    await look('sign in')
    await narrow.page.goto(`${daemon.url}/#/reset-password?token=abc`)
    await narrow.page.getByRole('heading', { level: 1, name: 'Choose a new password' }).waitFor()
    await look('reset')
    await narrow.page.goto(`${daemon.url}/#/profile`)
    await narrow.page.getByLabel('User name').fill(ADMIN.username)
    await narrow.page.getByLabel('Password', { exact: true }).fill(ADMIN.password)
    await narrow.page.keyboard.press('Enter')
    for (const at of ['#/profile', '#/users', '#/users?tab=tokens', '#/users?tab=roles', ...['general', 'license', 'mfa_policy', 'ldap', 'oidc', 'email', 'notifications', 'security', 'mirror'].map(one => `#/settings?section=${one}`)]) {
      await narrow.page.goto(`${daemon.url}/${at}`)
      await narrow.page.locator('.bar h1').waitFor()
      await narrow.page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
      await look(at)
    }
    await narrow.context.close()
    expect({ found, complaints: narrow.complaints }).toEqual({ found: [], complaints: [] })
  })
})

describe.skipIf(noBrowser !== undefined)('identity in the community edition', () => {
  test('enterprise sections are shown locked, and say what they need', async () => {
    const daemon = await startDaemon({ env: { EDITION: 'community' } })
    const browser = await launch()
    try {
      await daemon.setupAdmin()
      const { page, complaints } = await openPage(browser, `${daemon.url}/#/settings?section=ldap`, { address: nextAddress() })
      await page.getByLabel('User name').fill(ADMIN.username)
      await page.getByLabel('Password', { exact: true }).fill(ADMIN.password)
      await page.keyboard.press('Enter')
      await page.getByText('Directory (LDAP) is part of the enterprise edition.').waitFor()
      expect([await page.getByLabel('Host', { exact: true }).isDisabled(), await page.getByRole('button', { name: 'Test', exact: true }).getAttribute('aria-disabled'), await axeProblems(page), complaints]).toEqual([true, 'true', [], []])
      await page.getByRole('link', { name: 'Steps of the gate' }).click()
      expect(await page.getByLabel('Max upload size').isDisabled()).toBe(false)
    } finally {
      await browser.close()
      await daemon.close()
    }
  })
})
