import type { Page } from 'playwright-core'
import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { EXPORT_LISTS, type ExportList } from '../../ui/export-lists.ts'
import { noBrowser } from './support/browser.ts'
import { people } from './support/people.ts'

/** Where lists are, and the lists that can be had as a file there. */
const EXPORTS: readonly (readonly [at: string, ...lists: ExportList[]])[] = [
  ['packages', 'packages'],
  ['review', 'review-queue'],
  ['import?tab=groups', 'import-groups'],
  ['import?tab=mirror&which=all', 'mirrors'],
  ['import?tab=mirror&which=targets', 'mirror-distributions'],
  ['import?tab=sources&which=all', 'import-sources'],
  ['import?tab=keys', 'import-keys'],
  ['distributions', 'distributions'],
  ['registries', 'registries'],
  ['downloads', 'downloads'],
  ['downloads?view=never', 'never-fetched'],
  ['jobs', 'jobs', 'scheduled-jobs'],
  ['backups', 'backups'],
  ['logs', 'log'],
  ['audit?tab=decisions', 'decisions'],
  ['users', 'users'],
  ['users?tab=tokens', 'tokens'],
  ['users?tab=groups', 'groups'],
  ['users?tab=keys', 'uploader-keys'],
  ['users?tab=image-keys', 'image-keys'],
  ['users?person=admin', 'sessions', 'tokens'],
  ['profile', 'sessions'],
]

describe.skipIf(noBrowser !== undefined)('the table of screens', () => {
  let page: Page
  const { addUser, asAdmin, signIn, heading } = people(stage => {
    page = stage.page
  })
  const shown = async (): Promise<object> => ({
    heading: await page.locator('.bar h1').innerText(),
    window: await page.title(),
    marked: await page.locator('aside.side [aria-current=page] .label').allInnerTexts(),
  })

  const settled = (): Promise<unknown> =>
    page.waitForFunction(() => document.querySelector('main [aria-busy="true"], main .loading') === null)

  test('every list is had as a table that has its titles also without a row, and at the width of a phone', async () => {
    await asAdmin('#/profile')
    await page.setViewportSize({ width: 420, height: 900 })
    const day = new Date().toISOString().slice(0, 10)
    for (const [at, ...lists] of EXPORTS) {
      await page.goto(page.url().replace(/#.*/, `#/${at}`))
      await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))))
      const buttons = page.locator('main .btn.export')
      await expect.poll(() => buttons.count(), { message: at }).toBe(lists.length)
      await settled()
      const saved = []
      for (const button of await buttons.all()) {
        await button.click()
        const [file] = await Promise.all([
          page.waitForEvent('download', { timeout: 5_000 }),
          page.getByRole('menuitem', { name: 'CSV' }).click({ timeout: 4_000 }),
        ]).catch((error: unknown) => {
          throw new Error(`${at}: ${String(error)}`)
        })
        const list = lists.find(one => file.suggestedFilename().startsWith(`gatehouse-${one}`)) ?? at
        expect(file.suggestedFilename()).toMatch(new RegExp(`^gatehouse-[a-z0-9-]+-${day}\\.csv$`))
        const [titles = ''] = (await readFile(await file.path(), 'utf8')).replace('\uFEFF', '').split('\r\n')
        expect(titles.split(','), list).toEqual(expect.arrayContaining([...EXPORT_LISTS[list as ExportList]]))
        expect(titles).not.toMatch(/password|secret|token\b/)
        saved.push(list)
      }
      expect(saved.toSorted()).toEqual(lists.toSorted())
    }
  })

  test('the help names the keys that do something there, and they do', async () => {
    await asAdmin('#/profile')
    const at = (place: string): Promise<unknown> => page.goto(page.url().replace(/#.*/, `#/${place}`))
    const none: string[] = []
    for (const place of [
      ...EXPORTS.map(([one]) => one),
      'import?tab=security',
      'import?tab=adopt',
      'health',
      'policy',
      'settings',
      'upload',
    ]) {
      await at(place)
      await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))))
      await settled()
      await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
      await page.keyboard.press('?')
      const help = page.locator('.keys-list')
      await help.waitFor()
      const terms = await help.evaluate(list =>
        [...list.querySelectorAll('dt')].map(term => [
          [...term.children].map(one => one.textContent).join(' '),
          term.nextElementSibling?.textContent ?? '',
        ]),
      )
      await page.keyboard.press('Escape')
      await help.waitFor({ state: 'detached' })
      await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
      const said = new Map(terms as [string, string][])
      if (said.get('J K') === 'Next and previous row') {
        await page.keyboard.press('j')
        expect(await page.evaluate(() => document.activeElement?.tagName), place).toBe('TR')
      } else if (!said.has('J K')) none.push(place)
      await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
      await page.keyboard.press('/')
      if (said.get('/') === 'Search this page')
        expect(await page.evaluate(() => document.activeElement?.hasAttribute('data-search')), place).toBe(true)
      else {
        await page.getByRole('combobox', { name: 'Search or run' }).waitFor()
        await page.keyboard.press('Escape')
      }
      await page.keyboard.press('Escape')
    }
    // lists without a row, and what is no list
    for (const place of ['distributions', 'jobs', 'users', 'import?tab=keys', 'profile'])
      expect(none).not.toContain(place)
  })

  test('every entry of the sidebar opens the screen of its name, and so does its key', async () => {
    await asAdmin('#/profile')
    await heading('Your profile').waitFor()
    const titles = await page.locator('aside.side nav .label').allInnerTexts()
    expect(titles).toEqual([
      'Dashboard',
      'Review queue',
      'Upload',
      'Packages',
      'Import',
      'Distributions',
      'Registries',
      'Downloads',
      'Vulnerabilities',
      'Policy',
      'Engines',
      'Inventory',
      'Health',
      'Jobs',
      'Machine',
      'Backups',
      'Logs',
      'Audit',
      'Users and tokens',
      'Settings',
    ])
    await page.keyboard.press('?')
    const keys = await page
      .locator('.keys-list')
      .evaluate(list =>
        [...list.querySelectorAll('dt')]
          .filter(term => term.children.length === 2 && term.firstElementChild?.textContent === 'G')
          .map(term => [term.nextElementSibling?.textContent ?? '', term.lastElementChild?.textContent ?? '']),
      )
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    expect(keys.map(([title]) => title)).toEqual(titles)

    for (const [title = '', key = ''] of keys) {
      const expected = { heading: title, window: `${title} · Gatehouse`, marked: [title] }
      await page.locator('aside.side nav').getByRole('link', { name: title }).click()
      await heading(title).waitFor()
      expect(await shown()).toEqual(expected)
      await page.goto(page.url().replace(/#.*/, '#/profile'))
      await heading('Your profile').waitFor()
      await page.keyboard.press('g')
      await page.keyboard.press(key.toLowerCase())
      await heading(title).waitFor()
      expect(await shown()).toEqual(expected)
    }
  })

  test('an address that is no screen shows the dashboard', async () => {
    await asAdmin('#/no-such-screen?pick=x')
    await heading('Dashboard').waitFor()
    expect(await shown()).toEqual({
      heading: 'Dashboard',
      window: 'Dashboard · Gatehouse',
      marked: ['Dashboard'],
    })
  })

  test('a screen for admins says so to others, and asks the server nothing', async () => {
    await addUser('ursula', 'auditor')
    const refused: string[] = []
    page.on('response', response => {
      if (response.status() === 403) refused.push(response.url())
    })
    await signIn('ursula', '#/settings')
    await page.getByText('Settings are for admins').waitFor()
    await page.getByText('Needs admin. You are auditor.').waitFor()
    await page.locator('aside.side nav').getByRole('link', { name: 'Policy' }).click()
    await page.getByText('The policy belongs to admins').waitFor()
    expect(refused).toEqual([])
  })
})
