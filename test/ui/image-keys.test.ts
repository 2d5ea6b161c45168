import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { createSigner } from '../support/cosign.ts'
import { noBrowser } from './support/browser.ts'
import { people } from './support/people.ts'

describe.skipIf(noBrowser !== undefined)('the keys by which images are signed', () => {
  let page: Page
  let admin: string
  const it = people(stage => {
    ;({ page, admin } = stage)
  })
  const dialog = () => page.getByRole('dialog')
  const row = (name: string) => page.getByRole('row').filter({ hasText: name })
  const add = () => dialog().getByRole('button', { name: 'Add the key' }).click()
  const names = async (): Promise<string[]> =>
    (await it.daemon.call<{ keys: { name: string }[] }>('GET', '/image-keys', { token: admin })).body.keys.map(
      ({ name }) => name,
    )

  test('one is found from the registry’s rule, refused at its field, added from a file, shown, and removed', async () => {
    for (const body of [
      { name: 'images', format: 'oci' },
      { name: 'all-images', format: 'oci', kind: 'group', members: ['images'] },
      { name: 'ours', format: 'npm' },
    ])
      expect((await it.daemon.call('POST', '/registries/', { token: admin, body })).status).toBe(201)
    const team = createSigner()
    const other = createSigner()
    await it.asAdmin('#/registries')
    await page.getByRole('button', { name: 'More about images', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Change' }).click()
    await dialog().getByLabel('Images without a signature of a trusted key').waitFor()
    await it.isFine()
    await dialog().getByRole('link', { name: 'Image keys' }).click()
    await page.getByText('No image key yet').waitFor()
    await it.isFine()

    await page.getByRole('button', { name: 'Add a key' }).first().click()
    // neither a group nor a registry of something else
    await dialog().getByRole('checkbox', { name: 'images' }).waitFor()
    expect(await dialog().getByRole('checkbox').count()).toBe(1)
    const name = dialog().getByRole('textbox', { name: 'Name', exact: true })
    const key = dialog().getByRole('textbox', { name: 'Public key' })
    const said = async (field: typeof key): Promise<string> => {
      await dialog().locator('[aria-invalid="true"]').waitFor()
      return field.evaluate(at => document.getElementById(at.getAttribute('aria-describedby') ?? '')?.textContent ?? '')
    }
    await name.fill('release team')
    await key.fill('no key at all')
    await add()
    expect(await said(key)).toMatch(/^The key is refused: it holds no whole PEM block\. Send one public key in PEM/)
    expect(await names()).toEqual([])
    await it.isFine()
    await dialog()
      .getByLabel('File of Public key')
      .setInputFiles({ name: 'cosign.pub', mimeType: 'text/plain', buffer: Buffer.from(team.pem) })
    await dialog().getByRole('checkbox', { name: 'images' }).check()
    await add()
    await row('release team').getByText(team.fingerprint).waitFor()
    await row('release team').getByText('ECDSA P-256').waitFor()
    await row('release team')
      .getByText(/^added by admin, /)
      .waitFor()
    await row('release team').getByRole('cell', { name: 'images', exact: true }).waitFor()
    await it.isFine()

    // a name that is taken is said at the name, a key that is known at the key
    await page.getByRole('button', { name: 'Add a key' }).first().click()
    await name.fill('release team')
    await key.fill(other.pem)
    await add()
    expect(await said(name)).toMatch(/^There is a trusted key release team already/)
    await name.fill('nightly')
    await key.fill(team.pem)
    await add()
    await dialog().locator('textarea[aria-invalid="true"]').waitFor()
    expect(await said(key)).toMatch(/^There is a trusted key release team already/)
    await name.fill('nightly!')
    await add()
    await dialog().locator('input[aria-invalid="true"]').waitFor()
    expect(await said(name)).toContain('1 to 80 letters')
    await name.fill('nightly')
    await key.fill(other.pem)
    await add()
    await row('nightly').getByText('every registry of images').waitFor()

    await page.getByRole('button', { name: 'Remove the key release team' }).click()
    await dialog().getByText('Images that are published stay').waitFor()
    await it.isFine()
    expect(await names()).toEqual(['nightly', 'release team'])
    await dialog().getByRole('button', { name: 'Remove the key' }).click()
    await row('release team').waitFor({ state: 'detached' })
    expect(await names()).toEqual(['nightly'])
  })
})
