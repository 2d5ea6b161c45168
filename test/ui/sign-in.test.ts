import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nextAddress, type Daemon } from '../support/daemon.ts'
import { signInWith, startProvider, type TestProvider } from '../support/oidc.ts'
import { startSmtp, textOf, type TestSmtp } from '../support/smtp.ts'
import { noBrowser, openPage } from './support/browser.ts'
import { people } from './support/people.ts'

describe.skipIf(noBrowser !== undefined)('ways in and out of the console', () => {
  let page: Page
  let daemon: Daemon
  let smtp: TestSmtp
  let provider: TestProvider
  const who = people(stage => {
    ;({ page, daemon } = stage)
  })
  const { patch, addUser, session, heading, signIn, isFine } = who

  beforeAll(async () => {
    smtp = await startSmtp({ mode: 'plain' })
    provider = await startProvider(`${who.daemon.url}/api/v1/auth/oidc/callback`)
    await patch({
      app_url: who.daemon.url,
      notifications: { allow_private_hosts: '127.0.0.1' },
      email: {
        enabled: true,
        smtp_host: '127.0.0.1',
        smtp_port: smtp.port,
        use_tls: false,
        from_address: 'gatehouse@example.test',
        to_addresses: 'ops@example.test',
      },
    })
  })
  afterAll(async () => {
    await Promise.all([smtp?.close(), provider?.close()])
  })

  test('the profile lists own sessions, marks this one, and ends one or all others', async () => {
    const [one, two, three] = [await addUser('finn'), await session('finn'), await session('finn')]
    const works = async (token: string): Promise<number> => (await daemon.call('GET', '/auth/me', { token })).status
    await signIn('finn', '#/profile')
    const rows = page.getByRole('region', { name: 'Sessions' }).getByRole('row')
    await rows.filter({ hasText: 'This one' }).getByText('Chrome on Linux').waitFor()
    expect(await rows.count()).toBe(5)
    await rows
      .nth(2)
      .getByRole('button', { name: /^Sign out/ })
      .click()
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
    const token = (await page.evaluate(() => sessionStorage.getItem('gatehouse.token'))) ?? ''
    const [answer] = await Promise.all([
      page.waitForResponse(/auth\/logout/),
      page.getByRole('button', { name: 'Sign out', exact: true }).click(),
    ])
    expect([answer.status(), (await daemon.call('GET', '/auth/me', { token })).status]).toEqual([200, 401])
    await heading('Sign in').waitFor()
    expect(await page.getByText('Your session ended').count()).toBe(0) // it was ended on purpose
  })

  test('a reader at the address of the first run gets the console, not the wizard', async () => {
    await addUser('rea')
    await signIn('rea', '#/setup')
    await page.getByRole('navigation').getByRole('link', { name: 'Packages' }).waitFor()
    expect(await page.getByRole('button', { name: /^(Check and continue|Continue)$/ }).count()).toBe(0)
    expect(await page.getByRole('complementary', { name: 'Setup steps' }).count()).toBe(0)
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
    // also when somebody is signed in: whoever asks wants another password
    await heading('Forgot your password?').waitFor()
  })

  test('single sign-on goes through the provider and comes back to where one was; a refusal is said in words', async () => {
    await patch({ oidc: signInWith(provider) })
    provider.person = {
      sub: 'ida-1',
      preferred_username: 'ida',
      name: 'Ida Berg',
      email: 'ida@example.test',
      groups: ['repo-maintainers'],
    }
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
    const other = await openPage(who.browser, daemon.url, { address: nextAddress() })
    await other.page.getByRole('link', { name: 'Sign in with Nordwerk' }).click()
    await other.page.getByText('You are in none of the groups that have a role here.').waitFor()
    expect(new URL(other.page.url()).hash).toBe('#/login')
    await other.page.goto(`${daemon.url}/#/login?sso=${'a'.repeat(43)}`)
    await other.page.reload()
    await other.page.getByText('This login has ended').waitFor()
    await other.context.close()
  })
})
