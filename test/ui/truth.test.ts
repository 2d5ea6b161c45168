import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { buildZip } from '../support/zip.ts'
import { noBrowser } from './support/browser.ts'
import { expectFine, signInAt, visits } from './support/visits.ts'

describe.skipIf(noBrowser !== undefined)('the console says what is so', () => {
  let daemon: Daemon
  let admin: string
  let page: Page
  visits(
    () => daemon.url,
    opened => {
      page = opened
    },
  )
  beforeAll(async () => {
    daemon = await startDaemon()
    admin = await daemon.setupAdmin()
    for (const codename of ['jammy', 'bookworm'])
      await daemon.call('POST', '/distributions/init', { token: admin, body: { codename } })
    for (const name of ['hello', 'other'])
      await daemon.upload(await buildDeb({ name, version: '1.0' }), { token: admin, distribution: 'jammy' })
  })
  afterAll(async () => {
    await daemon?.close()
  })
  const signIn = (at: string): Promise<void> => signInAt(page, `${daemon.url}/${at}`)

  test('a package that no engine looked at is not without findings: in the list, the drawer, a filter and on the dashboard', async () => {
    await signIn('#/packages')
    await page.getByRole('row', { name: /hello/ }).getByText('Not in full').waitFor()
    expect(await page.getByText('none known').count()).toBe(0)
    await expectFine(page)
    await page.getByLabel('Scan', { exact: true }).selectOption('Not scanned in full')
    await page.waitForURL(/scanned=false/)
    await page.getByRole('row', { name: /hello/ }).waitFor()
    await page.goto(`${daemon.url}/#/packages?pick=hello&tab=findings`)
    await page.getByText('Not scanned in full', { exact: true }).last().waitFor()
    await page.goto(`${daemon.url}/#/dashboard`)
    await page.getByRole('link', { name: '2 packages not scanned in full' }).waitFor()
    expect(await page.getByText('A quiet day').count()).toBe(0)
    await page.goto(`${daemon.url}/#/vulnerabilities`)
    await page.getByText('2 packages were not scanned in full.').waitFor()
    await expectFine(page)
  })

  test('the drawer of a package lists what it carries, and what in it was not opened, with path and size', async () => {
    const files = {
      'opt/app/node_modules/b/package.json': '{"name":"b","version":"1.0.0"}',
      'opt/app/node_modules/b/index.js': '1',
      'opt/app/requirements.txt': 'a==1\n',
      'opt/app/data.zip': buildZip([{ name: 'secret.jar', body: 'text', flags: 1 }]),
    }
    await daemon.upload(await buildDeb({ name: 'carrier', version: '1.0', files }), {
      token: admin,
      distribution: 'bookworm',
    })
    await signIn('#/packages?pick=carrier')
    const drawer = page.getByRole('complementary', { name: 'carrier' })
    await drawer.getByText('1 component, and 1 more that a file only asks for.').waitFor()
    await drawer.getByText('1 file was not opened, or not to the end: there may be more inside.').waitFor()
    const secret = drawer
      .getByRole('listitem')
      .filter({ hasText: /opt\/app\/data\.zip!\/secret\.jar\s*4\sbytes\. It is encrypted\./ })
    await secret.waitFor()
    await drawer.getByRole('link', { name: '1 component' }).click()
    await drawer.getByRole('listitem').filter({ hasText: 'opt/app/node_modules/b/package.json' }).waitFor()
    await expectFine(page)
    await drawer.getByRole('button', { name: 'Only asked for 1' }).click()
    await drawer.getByRole('listitem').filter({ hasText: 'opt/app/requirements.txt' }).waitFor()
    expect(await drawer.getByText('opt/app/node_modules').count()).toBe(0)
    await drawer.getByRole('button', { name: 'Not opened 1' }).click()
    await secret.waitFor()
    await drawer.getByRole('searchbox', { name: 'Search what is inside' }).fill('damaged')
    await drawer.getByText('Nothing matches').waitFor()
    await expectFine(page)
  })

  test('Engines says what becomes of uploads, and follows the setting as the gate does', async () => {
    await signIn('#/engines')
    const said = (text: string) => page.getByText(`No vulnerability data are loaded. ${text}`).waitFor()
    await said('Uploads are published with a warning.')
    const rule = (on_scanner_unavailable: string) =>
      daemon.call('PATCH', '/settings/', { token: admin, body: { validation: { on_scanner_unavailable } } })
    await rule('hold')
    await page.reload()
    await said('Uploads are held for review.')
    await rule('warn')
  })

  test('a link opened in a new tab shows its package, and signing out ends both', async () => {
    await signIn('#/packages')
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('link', { name: 'hello', exact: true }).click({ modifiers: ['ControlOrMeta'] }),
    ])
    await tab.getByRole('complementary', { name: 'hello' }).getByText('Install', { exact: true }).waitFor()
    await page.getByRole('button', { name: /admin/ }).first().click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await tab.getByLabel('User name').waitFor()
    await tab.close()
  })

  test('a search without a connection says from when the list is, and recovers by itself', async () => {
    await signIn('#/packages')
    await page.getByText('Live', { exact: true }).waitFor()
    await page.context().setOffline(true)
    await page.getByLabel('Search packages').fill('other')
    await page.getByText(/What you see is from/).waitFor()
    await page.getByRole('button', { name: /Offline since/ }).waitFor()
    await page.context().setOffline(false)
    await page.getByText('Live', { exact: true }).waitFor()
    await expect.poll(() => page.getByRole('link', { name: 'hello', exact: true }).count()).toBe(0)
    expect(await page.getByText(/What you see is from/).count()).toBe(0)
  })

  test('without a connection one strip says so, and a part that was never read says that', async () => {
    await signIn('#/distributions')
    await page.getByRole('button', { name: 'More about jammy' }).waitFor()
    await page.getByRole('link', { name: 'Packages', exact: true }).click()
    await page.getByText('Live', { exact: true }).waitFor()
    await page.context().setOffline(true)
    await page.getByRole('link', { name: 'Distributions', exact: true }).click()
    await page.getByText('No connection since').waitFor()
    await page.getByText('Not read yet. It comes with the connection.').first().waitFor()
    expect(await page.getByText('cannot be reached').count()).toBe(0)
    await page.context().setOffline(false)
    await page.getByText('Not read yet. It comes with the connection.').first().waitFor({ state: 'detached' })
  })

  test('an address that names no page is said once, and does not stay', async () => {
    await signIn('#/no-such-page?q=1')
    await page.getByText('There is no page no-such-page').waitFor()
    expect([
      new URL(page.url()).hash,
      await page.getByRole('status').filter({ hasText: 'There is no page' }).count(),
    ]).toEqual(['#/dashboard', 1])
  })

  test('Copy packages copies what is ticked, names it, and asks before another release', async () => {
    await signIn('#/distributions')
    await page.getByRole('button', { name: 'More about jammy' }).click()
    await page.getByRole('menuitem', { name: 'Copy packages' }).click()
    const dialog = page.getByRole('dialog')
    const button = (name: string) => dialog.getByRole('button', { name, exact: true })
    const locked = (name: string) => expect.poll(() => button(name).getAttribute('aria-disabled'))
    await dialog.getByLabel('Into').selectOption('bookworm')
    await dialog.getByText('bookworm is another release than jammy.').waitFor()
    await locked('Copy what is ticked').toBe('true')
    await dialog.getByLabel('Copy hello').check()
    await locked('Copy 1 package from jammy to bookworm').toBe('true')
    await dialog.getByLabel('They are meant for it').check()
    await locked('Copy 1 package from jammy to bookworm').toBe(null)
    await dialog.getByLabel(/Everything that differs/).check()
    await locked('Copy 2 packages from jammy to bookworm').toBe(null)
    await expectFine(page)
  })

  test('settings that nothing reads have no controls', async () => {
    await signIn('#/settings')
    await page.getByText('Steps of the gate').first().waitFor()
    for (const name of ['Versioning', 'grype_fail_on'])
      expect(await page.getByText(name, { exact: true }).count()).toBe(0)
  })
})
