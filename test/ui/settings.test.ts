import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { issueLicense } from '../../server/core/license.ts'
import { LABELS } from '../../ui/screens/settings/labels.ts'
import { groupsOf } from '../../ui/screens/settings/model.ts'
import { ADMIN, nextAddress, startDaemon, type Daemon } from '../support/daemon.ts'
import { CLIENT, startProvider, type TestProvider } from '../support/oidc.ts'
import { startSmtp, type TestSmtp } from '../support/smtp.ts'
import { axeProblems, launch, noBrowser, openPage, tooWide } from './support/browser.ts'
import { people } from './support/people.ts'
import { settled } from './support/visits.ts'

const VENDOR_SECRET = 'the vendor secret of these tests'

describe.skipIf(noBrowser !== undefined)('settings and tokens in the console', () => {
  let page: Page
  let daemon: Daemon
  let admin: string
  let smtp: TestSmtp
  let provider: TestProvider
  const who = people(
    stage => {
      ;({ page, daemon, admin } = stage)
    },
    { LICENSE_VENDOR_SECRET: VENDOR_SECRET },
  )
  const { patch, addUser, signIn, asAdmin, isFine } = who

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

  test('an API token can be limited to uploads in some distributions, and says when it ends soon', async () => {
    await asAdmin('#/users?tab=tokens')
    await page.getByRole('button', { name: 'Create token' }).first().click()
    await page.getByLabel('Name').fill('ci-release')
    await page.getByLabel('Only some distributions').check()
    await page.getByRole('dialog').getByLabel('jammy').check()
    await isFine()
    await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click()
    await page.getByText('This is the only time the token is shown.').waitFor()
    const token = (await page.getByRole('region', { name: 'the token' }).textContent()) ?? ''
    await page.getByRole('dialog').getByText('uploads only in jammy').waitFor()
    await page.getByRole('button', { name: 'I have copied it' }).click()
    await page
      .getByRole('row', { name: /ci-release/ })
      .getByText('uploads only in jammy')
      .waitFor()
    expect((await daemon.call('GET', '/auth/me', { token })).body).toMatchObject({
      scopes: { distributions: ['jammy'], upload_only: true },
    })
    await daemon.call('POST', '/auth/api-tokens', {
      token: admin,
      body: { name: 'nightly', role: 'reader', expires_days: 3 },
    })
    await page.reload()
    await page
      .getByRole('row', { name: /nightly/ })
      .getByText('expires soon')
      .waitFor()
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
    const stored = async (): Promise<Record<string, Record<string, unknown>>> =>
      (await daemon.call<Record<string, Record<string, unknown>>>('GET', '/settings/', { token: admin })).body
    expect((await stored()).validation?.max_upload_size_mb).toBe(700)

    await page.getByRole('link', { name: 'General' }).click()
    await page.getByLabel('Address of this console').fill('no address')
    await page.getByRole('link', { name: 'Mail' }).click()
    await page.getByText('2 unsaved changes').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    // and the section with the fault is open
    await page.locator('[data-path=app_url] .error').getByText('It must be an address').waitFor()
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
    expect([
      await secret.inputValue(),
      await secret.getAttribute('placeholder'),
      (await stored()).email?.smtp_password,
    ]).toEqual(['', '***', '***'])
    await page.getByRole('button', { name: 'Remove it' }).click()
    await page.getByText('Will be removed.').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Will be removed.').waitFor({ state: 'detached' })
    expect((await stored()).email?.smtp_password).toBe('')
  })

  test('a name and an environment stand at the edge of every window, at the sign-in, in the title and on paper', async () => {
    await asAdmin('#/settings?section=appliance')
    await page.getByLabel('Name', { exact: true }).fill('Plant A')
    await page.getByRole('textbox', { name: 'Environment' }).fill('Production')
    await page.getByLabel('Colour').selectOption('brick')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.locator('.side .appliance').getByText('Plant A').waitFor()
    await page.locator('.side .appliance').getByText('Production').waitFor()
    expect(await page.title()).toBe('Settings · Plant A (Production) · Gatehouse')
    const stripe = (): Promise<string> =>
      page.evaluate(() => getComputedStyle(document.body).getPropertyValue('--appliance'))
    const [brick, ochre] = await page.evaluate(() =>
      ['brick', 'ochre'].map(name => getComputedStyle(document.body).getPropertyValue(`--appliance-${name}`)),
    )
    expect(await stripe()).toBe(brick)
    expect(await page.locator('.printhead').textContent()).toMatch(/^\s*Plant A, Production, Settings/)
    // somebody who is not signed in sees these, and nothing else of the settings
    const status = await fetch(`${daemon.url}/api/v1/setup/status`)
    expect(((await status.json()) as { appliance: object }).appliance).toEqual({
      name: 'Plant A',
      environment: 'Production',
      colour: 'brick',
    })
    await page.evaluate(() => sessionStorage.clear())
    await page.reload()
    await page.locator('.ident').getByText('Plant A').waitFor()
    await page.locator('.ident').getByText('Production').waitFor()
    expect(await page.title()).toBe('Sign in · Plant A (Production) · Gatehouse')
    expect(await stripe()).toBe(brick)
    await daemon.call('PATCH', '/settings/', {
      token: admin,
      body: { appliance: { name: '', environment: '', colour: 'ochre' } },
    })
    await page.reload()
    await page.locator('.ident').getByText('Package repository').waitFor()
    expect(await stripe()).toBe(ochre)
  })

  test('settings that the server does nothing with have no control', async () => {
    await asAdmin('#/settings')
    const links = page.locator('.setnav nav a')
    await links.first().waitFor()
    expect(await links.allTextContents()).toEqual([
      'General',
      'Name and environment',
      ...['Licence', 'Sign-in policy', 'Directory (LDAP)', 'Single sign-on', 'Mail', 'Webhook'],
      ...['Steps of the gate', 'Uploads a minute', 'Vulnerability policy', 'Licence policy', 'Script policy'],
      ...['Review', 'Engines', 'Vulnerability data'],
      ...[
        'Antivirus data',
        'Signing',
        'Other repositories',
        'Daily synchronisation',
        'Security updates',
        'Downloads',
        'Disk',
        'Audit log and imported versions',
        'Mirror',
        'Backup',
        'Bundles',
        'Inventory',
        'Clock',
      ],
      'Developer uploads',
    ])
    await page.getByRole('searchbox', { name: 'Search the settings' }).fill('fail_on')
    await page.getByText('No setting is called').waitFor()
  })

  test('every setting that has a control has a name of its own, which has a German', async () => {
    const { body } = await daemon.call('GET', '/settings/schema', { token: admin })
    const leaves = groupsOf(body).flatMap(({ sections }) =>
      sections.flatMap(({ blocks }) => blocks.flatMap(block => block.leaves)),
    )
    const names = leaves.map(({ path }) => [path, LABELS[path] ?? LABELS[path.slice(path.lastIndexOf('.') + 1)]])
    expect(leaves.length).toBeGreaterThan(100)
    expect(names.filter(([, label]) => label === undefined)).toEqual([])
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
    await page
      .getByLabel('Licence key')
      .fill(
        issueLicense(
          { id: randomUUID(), issued_to: 'Nordwerk', issued_at: new Date().toISOString(), expires_at: ends },
          VENDOR_SECRET,
        ),
      )
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
    await page.getByText('Settings are for admins').waitFor()
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

  test.each([
    [360, 'dark'],
    [1360, 'light'],
  ] as const)('at %d px, %s, nothing is too wide and axe finds nothing', async (width, theme) => {
    const narrow = await openPage(who.browser, daemon.url, { width, height: 740, theme, address: nextAddress() })
    const found: string[] = []
    const look = async (name: string): Promise<void> => {
      found.push(...(await axeProblems(narrow.page)).map(problem => `${name} ${problem}`))
      if ((await tooWide(narrow.page)) > 0) found.push(`${name} is too wide`)
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
    for (const at of [
      '#/profile',
      '#/users',
      '#/users?tab=tokens',
      '#/users?tab=roles',
      ...['general', 'license', 'mfa_policy', 'ldap', 'oidc', 'email', 'notifications', 'security', 'signing'].map(
        one => `#/settings?section=${one}`,
      ),
    ]) {
      await narrow.page.goto(`${daemon.url}/${at}`)
      await narrow.page.locator('.bar h1').waitFor()
      await settled(narrow.page)
      await look(at)
    }
    await narrow.context.close()
    expect({ found, complaints: narrow.complaints }).toEqual({ found: [], complaints: [] })
  })
})

describe.skipIf(noBrowser !== undefined)('settings in the community edition', () => {
  test('enterprise sections are shown locked, and say what they need', async () => {
    const daemon = await startDaemon({ env: { EDITION: 'community' } })
    const browser = await launch()
    try {
      await daemon.setupAdmin()
      const { page, complaints } = await openPage(browser, `${daemon.url}/#/settings?section=ldap`, {
        address: nextAddress(),
      })
      await page.getByLabel('User name').fill(ADMIN.username)
      await page.getByLabel('Password', { exact: true }).fill(ADMIN.password)
      await page.keyboard.press('Enter')
      await page.getByText('Directory (LDAP) is part of the enterprise edition.').waitFor()
      expect([
        await page.getByLabel('Host', { exact: true }).isDisabled(),
        await page.getByRole('button', { name: 'Test', exact: true }).getAttribute('aria-disabled'),
        await axeProblems(page),
        complaints,
      ]).toEqual([true, 'true', [], []])
      await page.getByRole('link', { name: 'Steps of the gate' }).click()
      expect(await page.getByLabel('Max upload size').isDisabled()).toBe(false)
    } finally {
      await browser.close()
      await daemon.close()
    }
  })
})
