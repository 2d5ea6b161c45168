import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import type { Daemon } from '../support/daemon.ts'
import { noBrowser } from './support/browser.ts'
import { code, people, wrongCode } from './support/people.ts'
import { PASSWORD } from './support/visits.ts'

describe.skipIf(noBrowser !== undefined)('the second factor in the console', () => {
  let page: Page
  let daemon: Daemon
  const { patch, addUser, guarded, heading, password, signIn, asAdmin, isFine } = people(stage => {
    ;({ page, daemon } = stage)
  })

  test('a second factor is switched on in the profile, and its recovery codes are shown once: to copy, print and save', async () => {
    await addUser('ada')
    await signIn('ada', '#/profile')
    await page.getByRole('button', { name: 'Set up the second factor' }).click()
    const secret = ((await page.getByRole('region', { name: 'the key' }).textContent()) ?? '').replace(/\s/g, '')
    await page.getByRole('img', { name: /QR code/ }).waitFor()
    await page.getByLabel('Code from the app').pressSequentially(wrongCode(secret))
    await page.getByText('This is not the code that the secret makes now.').waitFor()
    await isFine()
    await page.getByLabel('Code from the app').pressSequentially(code(secret)) // the sixth digit sends it
    await page.getByRole('heading', { name: 'Keep these 8 recovery codes' }).waitFor()
    const listed = page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem')
    await listed.nth(7).waitFor()
    const codes = await listed.allTextContents()
    expect(codes).toHaveLength(8)
    await isFine()
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as file' }).click(),
    ])
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
    expect(
      (await daemon.call('POST', '/auth/token', { body: { username: 'ada', password: PASSWORD } })).body,
    ).toMatchObject({ mfa_required: true })
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
      const { body } = await daemon.call<{ mfa_token: string }>('POST', '/auth/token', {
        body: { username: 'dora', password: PASSWORD },
      })
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
    expect(
      (await daemon.call('POST', '/auth/token', { body: { username: 'dora', password: PASSWORD } })).body,
    ).toHaveProperty('access_token')
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
      const secret = ((await page.getByRole('region', { name: 'the key' }).textContent()) ?? '').replace(/\s/g, '')
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
      // the policy asks for it
      expect(await page.getByRole('button', { name: 'Switch off' }).getAttribute('aria-disabled')).toBe('true')
    } finally {
      await patch({ mfa_policy: { enforce_admin_mfa: false, grace_period_days: 7 } })
    }
  })

  test('an admin sees who has a second factor and where accounts come from, and frees somebody who lost the phone', async () => {
    await guarded('kim')
    await asAdmin('#/users')
    const row = page.getByRole('row', { name: /kim/ })
    await row.getByText('On', { exact: true }).waitFor()
    await isFine()
    await row.getByRole('button', { name: 'Reset the second factor of kim' }).click()
    await page.getByText('Make sure that kim really asks for it.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Reset the second factor' }).click()
    await row.getByText('Off', { exact: true }).waitFor()
    expect(
      (await daemon.call('POST', '/auth/token', { body: { username: 'kim', password: PASSWORD } })).body,
    ).toHaveProperty('access_token')
    expect(
      await page
        .getByRole('row', { name: /admin/ })
        .first()
        .getByRole('button', { name: /Reset the second factor/ })
        .getAttribute('aria-disabled'),
    ).toBe('true')
    await page.getByRole('link', { name: 'Roles' }).click()
    await page.getByText('An API token can never do more than its maker.').waitFor()
    await isFine()
  })
})
