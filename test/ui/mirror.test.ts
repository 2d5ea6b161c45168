import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN } from '../support/daemon.ts'
import { noBrowser } from './support/browser.ts'
import { people } from './support/people.ts'
import { startVendors, type Vendors } from './support/vendors.ts'
import { settled } from './support/visits.ts'

describe.skipIf(noBrowser !== undefined)('mirrors in the console', () => {
  let page: Page
  let admin: string
  let vendors: Vendors
  const team = people(stage => {
    ;({ page, admin } = stage)
  })
  const { asAdmin, signIn, addUser, isFine } = team
  const button = (name: string | RegExp) => page.getByRole('button', { name }).first()
  const drawer = (name: string) => page.getByRole('complementary', { name, exact: true })
  const asked = () => page.getByRole('dialog')
  const get = async <T>(path: string): Promise<T> => (await team.daemon.call<T>('GET', path, { token: admin })).body
  const ruleOf = async (id: string): Promise<object | undefined> => {
    const { sources } = await get<{ sources: { id: string; rule: object }[] }>('/import/mirror/sources')
    return sources.find(one => one.id === id)?.rule
  }

  beforeAll(async () => {
    const login = await team.daemon.call<{ access_token: string }>('POST', '/auth/token', { body: ADMIN })
    const token = login.body.access_token
    await team.daemon.call('POST', '/distributions/init', { token, body: { codename: 'bookworm' } })
    vendors = await startVendors(async (method, path, body) => {
      const { status, text } = await team.daemon.call(method, path, { token, body })
      if (status >= 400) throw new Error(`${path}: ${text}`)
    })
    await addUser('rui', 'reader')
    await addUser('mary', 'maintainer')
  })
  afterAll(async () => {
    await vendors?.close()
  })

  test('a rule says what comes in, and one that is no rule is refused at its field and changes nothing', async () => {
    await asAdmin('#/import?tab=mirror&pick=bookworm')
    await drawer('Debian 12').getByText('It was never mirrored.').waitFor()
    await isFine()
    const before = await ruleOf('bookworm')
    await button('Change the rule').click()
    await asked().getByLabel('Names').fill('lib* pq(5)')
    await asked().getByRole('button', { name: 'Save' }).click()
    await asked().getByText('a name in which', { exact: false }).waitFor()
    expect(await ruleOf('bookworm')).toEqual(before)
    await isFine()
    await asked().getByLabel('Names').fill('lib*, !libicu*')
    await asked().getByLabel('Newest versions').fill('1')
    await asked().getByRole('button', { name: 'Save' }).press('Enter')
    await drawer('Debian 12').getByText('Names: lib* !libicu*').waitFor()
    await drawer('Debian 12').getByText('Of each name 1 version').waitFor()
    expect(await ruleOf('bookworm')).toMatchObject({ names: ['lib*', '!libicu*'], newest: 1 })
  })

  test('a run shows how far it is, is seen from every screen, is cancelled, and run again to its end', async () => {
    let answer = (): void => undefined
    const until = new Promise<void>(resolve => {
      answer = resolve
    })
    vendors.upstream.rules({ match: /\.deb$/, until })
    await signIn('mary', '#/import?tab=mirror')
    await button('Run now: Debian 12').press('Enter')
    await page.getByText('Mirror bookworm.').waitFor()
    await isFine()
    const other = button('Run now: Debian 12 security')
    expect(await other.getAttribute('aria-disabled')).toBe('true')
    await page.goto(`${team.daemon.url}/#/packages`)
    await button(/^\d jobs? open/).click() // with the import that it begun
    await page
      .getByRole('dialog', { name: 'Jobs' })
      .getByRole('link', { name: /^Mirror a source/ })
      .click()
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByText('The mirror is cancelled').waitFor()
    answer()
    const row = page.getByRole('row', { name: /Debian 12 lib|Debian 12 Names/ })
    await row.getByText('Cancelled').waitFor()
    vendors.upstream.rules()
    await button('Run now: Debian 12').click()
    await row.getByText('All is here').waitFor()
    await page.getByRole('link', { name: 'Debian 12', exact: true }).click()
    await drawer('Debian 12').getByText('All that is wanted of it is here.', { exact: false }).waitFor()
    await drawer('Debian 12').getByText('begun by mary', { exact: false }).waitFor()
    await isFine()
    const { items } = await get<{ items: { name: string }[] }>('/artifacts/?distribution=bookworm')
    expect(items.map(({ name }) => name)).toEqual(['libpq5'])
  })

  test('a distribution is compared with its sources, frozen with a reason that everybody reads, and opened again', async () => {
    await team.daemon.call('PATCH', '/import/mirror/sources/bookworm', {
      token: admin,
      body: { names: ['curl', 'lib*'], newest: null },
    })
    await signIn('mary', '#/import?tab=mirror')
    await button('Distributions 1').press('Enter')
    await page.getByRole('link', { name: 'bookworm: Compare' }).click()
    const beside = drawer('Comparison of bookworm')
    await beside.getByText('curl', { exact: true }).waitFor()
    await beside.getByText('Debian 12, its list of', { exact: false }).waitFor()
    await beside.getByRole('button', { name: 'New 2' }).click()
    expect(await beside.getByRole('listitem').filter({ hasText: 'Not here' }).count()).toBe(2)
    await isFine()
    await page.keyboard.press('Escape')
    await button('Freeze bookworm').click()
    await asked().getByLabel('Why').fill('Line 4 is being certified.')
    await asked().getByRole('button', { name: 'Freeze it' }).click()
    await page.getByText('Line 4 is being certified.').waitFor()
    await isFine()
    await button('Distributions 1').click()
    await page
      .getByRole('row', { name: /Debian 12 Names/ })
      .getByText('frozen')
      .waitFor()
    await button('Run now: Debian 12').click()
    await page.getByRole('alert').getByText('frozen', { exact: false }).waitFor()
    await button('Distributions 1').click()
    await button('Unfreeze bookworm').click()
    await page.getByText('bookworm is no longer frozen').waitFor()
    await button('Freeze bookworm').waitFor()
  })

  test('an admin says when the clock mirrors and how much; a bound out of range is refused and changes nothing', async () => {
    await asAdmin('#/import?tab=mirror')
    await button('Schedule and bounds').click()
    await asked().getByLabel('Packages in one run').fill('0')
    await asked().getByRole('button', { name: 'Save' }).click()
    await asked().getByRole('alert').waitFor()
    await isFine()
    await asked().getByLabel('Mirror every night').check()
    await asked().getByLabel('At', { exact: true }).fill('03:45')
    await asked().getByLabel('Packages in one run').fill('50')
    await asked().getByRole('button', { name: 'Save' }).click()
    await page.getByText('Every day at 03:45.', { exact: false }).waitFor()
    await page.getByText('at most 50 packages', { exact: false }).waitFor()
    expect(await get('/import/mirror/schedule')).toMatchObject({ enabled: true, hour: 3, minute: 45 })
    const on = page.getByRole('switch', { name: 'Mirror Debian 12 every night' })
    await on.press('Space')
    await page.getByRole('button', { name: 'Mirrored by the clock 1' }).waitFor()
    expect(await on.isChecked()).toBe(true)
  })

  test('a reader sees rules, reports and freezes, and is told which role changes them', async () => {
    await signIn('rui', '#/import?tab=mirror&pick=bookworm')
    await drawer('Debian 12').getByText('Names: curl lib*').waitFor()
    await settled(page)
    for (const name of ['Schedule and bounds', 'Change the rule', 'Run now'])
      expect(await button(name).getAttribute('aria-disabled'), name).toBe('true')
    await page.getByText('Needs admin. You are reader.').first().waitFor({ state: 'attached' })
    await button('Distributions 1').click()
    expect(await button('Freeze bookworm').getAttribute('aria-disabled')).toBe('true')
    await isFine()
  })
})
