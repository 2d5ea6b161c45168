import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { noBrowser } from './support/browser.ts'
import { people } from './support/people.ts'

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
      'Downloads',
      'Vulnerabilities',
      'Policy',
      'Engines',
      'Inventory',
      'Health',
      'Jobs',
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
