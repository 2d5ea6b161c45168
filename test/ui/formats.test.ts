import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { toyPackage } from '../support/toy/index.ts'
import { copyWithToy } from '../support/toy/server.ts'
import { dropFiles, noBrowser } from './support/browser.ts'
import { expectFine, signInAt, visits } from './support/visits.ts'

describe.skipIf(noBrowser !== undefined)('the console has no list of formats', () => {
  let copy: Awaited<ReturnType<typeof copyWithToy>>
  let daemon: Daemon
  let token: string
  let page: Page
  beforeAll(async () => {
    copy = await copyWithToy()
    daemon = await startDaemon({ entry: copy.entry })
    token = await daemon.setupAdmin()
    for (const body of [
      { codename: 'attic', format: 'toy' },
      { codename: 'acme', based_on: 'bookworm', components: ['main', 'tools'] },
    ])
      expect((await daemon.call('POST', '/distributions/', { token, body })).status).toBe(201)
    for (const codename of ['attic', 'acme'])
      expect((await daemon.call('POST', '/distributions/init', { token, body: { codename } })).status).toBe(200)
  }, 120_000)
  afterAll(async () => {
    await daemon.close()
    await copy.remove()
  })
  visits(
    () => daemon.url,
    opened => {
      page = opened
    },
  )

  test('a format that is new to the server is uploaded like the others, and in the list of the first set-up', async () => {
    await signInAt(page, `${daemon.url}/#/upload`)
    await page.getByText('.toy, .deb, .rpm, .apk, .tgz, .whl or .jar').waitFor()
    await dropFiles(page, 'body', [
      { name: 'horse.toy', bytes: toyPackage('horse', '1', 'wood') },
      { name: 'notes.txt', bytes: Buffer.from('x') },
    ])
    await page.getByText('The console sends .toy, .deb, .rpm, .apk, .tgz, .whl and .jar files.').waitFor()
    await page
      .getByRole('row', { name: /horse\.toy/ })
      .getByText('Published')
      .waitFor()
    await expectFine(page)
  })

  test('a component is chosen with the distribution, and files that wait for it go there', async () => {
    const bytes = await buildDeb({ name: 'crane', version: '1' })
    // another distribution for .deb, so that the file waits for a choice
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
    await signInAt(page, `${daemon.url}/#/upload`)
    await dropFiles(page, 'body', [{ name: 'crane_1_amd64.deb', bytes }])
    await page.getByText('Choose where .deb packages go').waitFor()
    // one that is not set up is asked for first: the upload would set it up
    await page.getByLabel('Distribution for .deb').selectOption('noble')
    const question = page.getByRole('dialog', { name: 'Upload into noble?' })
    await question.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Choose where .deb packages go').waitFor()
    await page.getByLabel('Distribution for .deb').selectOption('acme, tools')
    const row = page.getByRole('row', { name: /crane_1/ })
    await row.getByText('acme, component tools').waitFor()
    await row.getByText('Published').waitFor()
    const index = `${daemon.url}/repos/dists/acme/tools/binary-amd64/Packages`
    await expect.poll(async () => (await fetch(index)).text(), { timeout: 20_000 }).toMatch(/^Package: crane$/m)
  })

  test('an upload that sets a distribution up was asked for, and is told; turned text of it is seen', async () => {
    const fields = { Description: 'a picture \u202Egnp.exe' }
    const bytes = await buildDeb({ name: 'stork', version: '1', fields })
    await signInAt(page, `${daemon.url}/#/upload`)
    await dropFiles(page, 'body', [{ name: 'stork_1_amd64.deb', bytes }])
    const select = page.getByLabel('Distribution for .deb')
    await select.selectOption('noble')
    await page.getByRole('dialog', { name: 'Upload into noble?' }).getByRole('button', { name: 'Choose it' }).click()
    await page
      .getByRole('row', { name: /stork_1/ })
      .getByText('Published')
      .waitFor()
    await select.locator('> option', { hasText: /^noble$/ }).waitFor({ state: 'attached' })
    const { text } = await daemon.call('GET', '/artifacts/audit/logs?action=INIT_DISTS', { token })
    expect(text).toContain('noble. Nobody had set it up: the first package that was published there did.')
    await page.getByRole('link', { name: 'Open' }).click()
    await page.getByText('a picture \\u202egnp.exe').first().waitFor()
    expect(await page.locator('body').textContent()).not.toContain('\u202E')
  })
})
