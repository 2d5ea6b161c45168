import * as openpgp from 'openpgp'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { noBrowser } from './support/browser.ts'
import { people } from './support/people.ts'

describe.skipIf(noBrowser !== undefined)('distributions of one’s own and the keys of developers', () => {
  let page: Page
  const it = people(stage => {
    page = stage.page
  })
  const row = (codename: string) => page.getByRole('row', { name: new RegExp(`^${codename}\\b`) })
  const more = async (codename: string, act: string): Promise<void> => {
    await row(codename)
      .getByRole('button', { name: `More about ${codename}` })
      .click()
    await page.getByRole('menuitem', { name: act }).click()
  }
  const dialog = () => page.getByRole('dialog')

  test('an admin adds one, is told at the field what is wrong, changes, retires, reactivates and removes it', async () => {
    await it.asAdmin('#/distributions')
    await row('focal').getByText('Ended 29 May 2025').waitFor()
    await page.getByRole('button', { name: 'Add a distribution' }).click()
    await dialog().getByLabel('Codename').fill('Acme!')
    await dialog().getByLabel('Based on').selectOption('bookworm')
    await dialog().getByLabel('Label').fill('Acme 1')
    await dialog().getByLabel('Components').fill('main, tools')
    await dialog().getByRole('button', { name: 'Add', exact: true }).click()
    await dialog().getByText('Small letters, digits, dots and hyphens are allowed').waitFor()
    await dialog().getByLabel('Codename').fill('acme')
    await it.isFine()
    await dialog().getByRole('button', { name: 'Add', exact: true }).click()
    await row('acme').getByText('components main, tools').waitFor()
    await row('acme').getByText('own', { exact: true }).waitFor()
    await it.isFine()

    await more('acme', 'Change')
    await dialog().getByLabel('Last day of security updates').fill('2020-01-31')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await row('acme').getByText('Ended 31 Jan 2020').waitFor()
    await more('acme', 'Retire')
    await dialog().getByRole('button', { name: 'Retire' }).click()
    await row('acme').getByText('retired', { exact: true }).waitFor()
    await more('acme', 'Reactivate')
    await dialog().getByRole('button', { name: 'Reactivate' }).click()
    await row('acme').getByText('retired', { exact: true }).waitFor({ state: 'detached' })
    await more('acme', 'Remove')
    await dialog().getByRole('button', { name: 'Remove' }).click()
    await row('acme').waitFor({ state: 'detached' })
    expect(await row('bookworm').count()).toBe(1)
  })

  test('the key of a developer is added by pasting it, refused when it is none, and removed', async () => {
    const { publicKey } = await openpgp.generateKey({ userIDs: [{ name: 'Ada', email: 'ada@example.test' }] })
    await it.asAdmin('#/users?tab=keys')
    await page.getByText('No uploader key yet').waitFor()
    await it.isFine()
    await page.getByRole('button', { name: 'Add a key' }).first().click()
    await dialog().getByLabel('Name', { exact: true }).fill('ada')
    await dialog().getByLabel('Public key').fill('no key at all')
    await dialog().getByRole('button', { name: 'Add the key' }).click()
    await dialog().getByText('The uploader key is refused').waitFor()
    await dialog().getByLabel('Public key').fill(publicKey)
    await it.isFine()
    await dialog().getByRole('button', { name: 'Add the key' }).click()
    await row('ada').getByText('every distribution').waitFor()
    await it.isFine()
    await row('ada').getByRole('button', { name: 'Remove the key ada' }).click()
    await dialog().getByRole('button', { name: 'Remove the key' }).click()
    await page.getByText('No uploader key yet').waitFor()
  })
})
