import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN, startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { axeProblems, noBrowser } from './support/browser.ts'
import { PASSWORD, signInAt, visits } from './support/visits.ts'

describe.skipIf(noBrowser !== undefined)('the command palette', () => {
  let daemon: Daemon
  let page: Page
  visits(
    () => daemon.url,
    opened => {
      page = opened
    },
  )
  beforeAll(async () => {
    daemon = await startDaemon()
    const admin = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token: admin, body: { codename: 'jammy' } })
    await daemon.call('POST', '/auth/users', {
      token: admin,
      body: { username: 'rita', full_name: 'Rita Openda', password: PASSWORD, role: 'reader' },
    })
    for (const name of ['openssl-tools', 'opentype', 'curl'])
      await daemon.upload(await buildDeb({ name, version: '1.0' }), { token: admin })
  })
  afterAll(() => daemon?.close())

  const field = () => page.getByRole('combobox', { name: 'Search or run' })
  const chosen = () => page.locator('[role=option][aria-selected=true]').textContent()

  test('finds packages, people and settings with the keyboard alone, and opens what is chosen', async () => {
    await signInAt(page, `${daemon.url}/#/dashboard`, ADMIN.username, ADMIN.password)
    await page.getByRole('heading', { level: 1, name: 'Dashboard' }).waitFor()
    await page.keyboard.press('Control+k')
    await field().waitFor()
    await page.keyboard.type('open')
    const packages = page.getByRole('group', { name: 'Packages' })
    await packages.getByRole('option').first().waitFor()
    expect(await packages.getByRole('option').allTextContents()).toEqual([
      expect.stringMatching(/^openssl-tools\s*1\.0\s*jammy\s*Published\s*$/),
      expect.stringMatching(/^opentype\s*1\.0\s*jammy\s*Published\s*$/),
    ])
    expect(await page.getByRole('group', { name: 'People' }).getByRole('option').allTextContents()).toEqual([
      expect.stringMatching(/^Rita Openda\s*rita\s*reader\s*$/),
    ])
    expect(await axeProblems(page)).toEqual([])
    await page.keyboard.press('ArrowDown')
    expect(await chosen()).toContain('opentype')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /opentype/ }).waitFor()
    expect(new URL(page.url()).hash).toContain('pick=opentype')
    expect(await field().count()).toBe(0)
  })

  test('opens a distribution by its name, with its row in sight and the focus on it', async () => {
    await signInAt(page, `${daemon.url}/#/packages`, ADMIN.username, ADMIN.password)
    await page.getByRole('heading', { level: 1, name: 'Packages' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('jammy')
    const found = page.getByRole('group', { name: 'Distributions' }).getByRole('option')
    await found.first().waitFor()
    expect(await found.allTextContents()).toEqual([expect.stringMatching(/^jammy\s*Ubuntu 22\.04.*3 packages\s*$/)])
    await found.first().click()
    await page.getByRole('heading', { level: 1, name: 'Distributions' }).waitFor()
    const row = page.locator('tr.picked')
    await row.waitFor()
    expect(await row.locator('.main').first().textContent()).toBe('jammy')
    await expect.poll(() => row.evaluate(one => one === document.activeElement)).toBe(true)
  })

  test('runs what stands behind ">", and says what was not found', async () => {
    await signInAt(page, `${daemon.url}/#/packages`, ADMIN.username, ADMIN.password)
    await page.getByRole('heading', { level: 1, name: 'Packages' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('no such thing')
    await page.getByText('Nothing that you may see is called “no such thing”.').waitFor()
    await field().fill('>colours dark')
    await page.keyboard.press('Enter')
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
    await page.keyboard.press('Control+k')
    expect(await axeProblems(page)).toEqual([])
    await page.keyboard.press('Escape')
    expect(await field().count()).toBe(0)
  })

  test('a line that the role does not allow stays, says who may, and does nothing', async () => {
    await signInAt(page, `${daemon.url}/#/packages`, 'rita', PASSWORD)
    await page.getByRole('heading', { level: 1, name: 'Packages' }).waitFor()
    await page.getByRole('button', { name: 'Search or run' }).click()
    await field().fill('>back up now')
    const line = page.getByRole('option', { name: /Back up now/ })
    expect(await line.getAttribute('aria-disabled')).toBe('true')
    expect(await line.textContent()).toContain('Needs admin. You are reader.')
    await page.keyboard.press('Enter')
    expect(await field().count()).toBe(1)
    await field().fill('rita')
    await page.getByText('Nothing that you may see is called “rita”.').waitFor()
  })

  test('a filter is saved under a name, opened from its list and from here, renamed and removed', async () => {
    await signInAt(page, `${daemon.url}/#/packages`, 'rita')
    const menu = () => page.getByRole('button', { name: 'Saved filters' })
    await menu().click()
    expect(await page.getByRole('menuitem', { name: 'Save this filter' }).getAttribute('aria-disabled')).toBe('true')
    await page.keyboard.press('Escape')
    await page.goto(`${daemon.url}/#/packages?q=open&sort=-size&pick=curl`)
    await menu().click()
    await page.getByRole('menuitem', { name: 'Save this filter' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Open ones')
    expect(await axeProblems(page)).toEqual([])
    await page.keyboard.press('Enter')
    const on = page.getByRole('button', { name: 'Open ones' })
    await on.waitFor()

    await page.goto(`${daemon.url}/#/packages`)
    await menu().click()
    await page.getByRole('menuitem', { name: 'Open ones' }).click()
    await on.waitFor()
    expect(new URL(page.url()).hash).toBe('#/packages?q=open&sort=-size')
    expect(await page.locator('tbody .main').allTextContents()).toEqual(
      expect.arrayContaining(['openssl-tools', 'opentype']),
    )
    await on.click()
    await page.getByRole('menuitem', { name: 'Rename “Open ones”' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Of open')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Of open' }).waitFor()

    await page.goto(`${daemon.url}/#/dashboard`)
    await page.keyboard.press('Control+k')
    await field().fill('of open')
    await page.getByRole('group', { name: 'Saved filters' }).getByRole('option', { name: 'Of open' }).click()
    await page.getByRole('heading', { level: 1, name: 'Packages' }).waitFor()
    await page.getByRole('button', { name: 'Of open' }).click()
    expect(await axeProblems(page)).toEqual([])
    await page.getByRole('menuitem', { name: 'Remove “Of open”' }).click()
    await page.getByRole('button', { name: 'Remove the filter' }).click()
    await menu().waitFor()
    expect(new URL(page.url()).hash).toBe('#/packages?q=open&sort=-size')
  })
})
