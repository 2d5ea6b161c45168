import * as openpgp from 'openpgp'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { ADMIN } from '../support/daemon.ts'
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
    await dialog().getByText('Who may see it stays as it is set').waitFor()
    await dialog().getByRole('button', { name: 'Remove' }).click()
    await row('acme').waitFor({ state: 'detached' })
    expect(await row('bookworm').count()).toBe(1)
  })

  test('the set-up of a client of a private tree makes a token of the least right, shown once and put into the lines', async () => {
    const { daemon } = it
    const admin = (await daemon.call<{ access_token: string }>('POST', '/auth/token', { body: { ...ADMIN } })).body
      .access_token
    await daemon.call('POST', '/distributions/init', { token: admin, body: { codename: 'noble' } })
    await daemon.call('PUT', '/access/distributions/noble', {
      token: admin,
      body: { private: true, roles: ['maintainer'] },
    })
    await it.asAdmin('#/distributions')
    await row('noble').getByRole('button', { name: 'Client setup' }).click()
    const setup = dialog().getByRole('region', { name: 'the client setup' })
    expect(await setup.textContent()).toContain('login gatehouse password YOUR_TOKEN')
    const { body } = await daemon.call<{ fingerprints: string[] }>('GET', '/distributions/noble/setup', {
      token: admin,
    })
    await dialog()
      .getByText(body.fingerprints[0]?.replace(/(.{4})(?=.)/g, '$1 ') ?? 'no key')
      .waitFor()
    await it.isFine()
    await dialog().getByRole('button', { name: 'Make a client token' }).click()
    const token = (await dialog().getByRole('region', { name: 'the token' }).textContent()) ?? ''
    expect(token).toMatch(/^svc_/)
    expect(await setup.textContent()).toContain(`login gatehouse password ${token}`)
    const { status } = await fetch(`${daemon.url}/repos/dists/noble/InRelease`, {
      headers: { Authorization: `Basic ${Buffer.from(`gatehouse:${token}`).toString('base64')}` },
    })
    expect(status).toBe(200)
    const made = await daemon.call<{ tokens: object[] }>('GET', '/auth/api-tokens', { token: admin })
    expect(made.body.tokens).toEqual([
      expect.objectContaining({
        role: 'reader',
        scopes: { distributions: ['noble'], upload_only: false, uploads_per_minute: null },
      }),
    ])
    await dialog().getByLabel('As').selectOption('docker')
    const lines = await dialog().getByRole('region', { name: 'the lines of the Dockerfile' }).textContent()
    expect(lines).toContain('--mount=type=secret')
    expect(lines).not.toContain(token)
    await it.isFine()
    await page.setViewportSize({ width: 420, height: 900 })
    await it.isFine()
  })

  test('a signing key of one’s own replaces the one that is there, and it is said before what clients have to do', async () => {
    const { daemon } = it
    const token = (await daemon.call<{ access_token: string }>('POST', '/auth/token', { body: { ...ADMIN } })).body
      .access_token
    const fingerprints = async (): Promise<string[]> =>
      (await daemon.call<{ keys: { fingerprint: string }[] }>('GET', '/settings/gpg', { token })).body.keys.map(
        one => one.fingerprint,
      )
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'noble' } })
    const before = await fingerprints()
    const { privateKey } = await openpgp.generateKey({
      userIDs: [{ name: 'Acme', email: 'repo@example.test' }],
      format: 'object',
    })
    await it.asAdmin('#/distributions')
    const card = page.locator('section.card', { has: page.getByRole('heading', { name: 'Signing key' }) })
    await card.getByRole('button', { name: 'Take one in' }).click()
    await dialog()
      .getByText(/clients have until then to fetch the new public key/)
      .waitFor()
    const replace = dialog().getByRole('button', { name: 'Replace the key' })
    expect(await replace.getAttribute('aria-disabled')).toBe('true')
    const text = dialog().getByLabel('Private key', { exact: true })
    await text.fill((await openpgp.encryptKey({ privateKey, passphrase: 'open it' })).armor())
    await replace.click()
    await dialog()
      .getByText(/is protected by a passphrase/)
      .waitFor()
    expect(await fingerprints()).toEqual(before)
    await it.isFine()
    await dialog()
      .getByLabel(/^Passphrase of the key/)
      .fill('open it')
    await replace.click()
    await page.getByText('A new signing key signs from now on').waitFor()
    const own = privateKey.getFingerprint().toUpperCase()
    expect(await fingerprints()).toEqual([own, ...before])
    await card.getByText(own.slice(-4)).first().waitFor()
    const { body } = await daemon.call<{ items: { detail: string }[] }>(
      'GET',
      '/artifacts/audit/logs?action=GPG_IMPORT',
      { token },
    )
    expect(body.items).toHaveLength(1)
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
