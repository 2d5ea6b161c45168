import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { ADMIN } from '../support/daemon.ts'
import { noBrowser } from './support/browser.ts'
import { people } from './support/people.ts'

describe.skipIf(noBrowser !== undefined)('jobs and backups', () => {
  let page: Page
  const { asAdmin, heading } = people(stage => {
    page = stage.page
  })
  const button = (name: string | RegExp) => page.getByRole('button', { name }).first()

  test('a backup is made, proved and listed; the history has both jobs with their logs, and the clock can be hurried', async () => {
    await asAdmin('#/backups')
    await heading('Backups').waitFor()
    await page.getByText('There is no backup yet').waitFor()
    await button('Back up now').click()
    await page.getByText('The backup is made').waitFor()
    await button('Prove').click()
    await page.getByText('Restored in a drill').waitFor()
    expect(await page.getByText('never', { exact: true }).count()).toBe(0)

    await page.goto(`${page.url().split('#')[0]}#/jobs`)
    await heading('Jobs').waitFor()
    await page.getByText('Nothing runs now.').waitFor()
    await button(/^Log of Make a backup/).click()
    await page.getByRole('dialog').getByText('Done.').waitFor()
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })

    const row = page.getByRole('row', { name: /Remove jobs that ended long ago/ })
    expect(await row.innerText()).toContain('never by the clock')
    await row.getByRole('button', { name: 'Run now' }).click()
    await row.getByText('OK').waitFor()

    await page.goto(`${page.url().split('#')[0]}#/backups`)
    await button('Restore').click()
    const asked = page.getByRole('dialog')
    expect(await asked.getByRole('button', { name: 'Restore' }).getAttribute('aria-disabled')).toBe('true')
    await asked.getByRole('row', { name: 'Accounts 1 1' }).waitFor()
    await asked.getByLabel('Type “restore” to confirm').fill('restore')
    await asked.getByRole('button', { name: 'Restore' }).click()
    // a restore ends every session
    const door = page.getByRole('dialog', { name: 'Sign in again' })
    await door.getByLabel('Password', { exact: true }).fill(ADMIN.password)
    await door.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('Undo the restore').waitFor()
    await button(/^Delete gatehouse_backup/).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('There is no backup yet').waitFor()
  })

  test('in maintenance the console says what the service is doing, in its words', async () => {
    await asAdmin('#/backups')
    await heading('Backups').waitFor()
    const said = 'The service is in maintenance: a backup is being restored.'
    await page.route('**/dashboard/events', route =>
      route.fulfill({ status: 503, json: { detail: said, code: 'maintenance' }, headers: { 'retry-after': '5' } }),
    )
    await page.reload()
    await page.getByText(said).waitFor()
    await page.unroute('**/dashboard/events')
    await page.getByText(said).waitFor({ state: 'detached' })
  })
})
