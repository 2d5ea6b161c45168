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
    await page.getByText('.toy, .deb, .rpm or .apk').waitFor()
    await dropFiles(page, 'body', [
      { name: 'horse.toy', bytes: toyPackage('horse', '1', 'wood') },
      { name: 'notes.txt', bytes: Buffer.from('x') },
    ])
    await page.getByText('The console sends .toy, .deb, .rpm and .apk files.').waitFor()
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
    await page.getByLabel('Distribution for .deb').selectOption('acme, tools')
    const row = page.getByRole('row', { name: /crane_1/ })
    await row.getByText('acme, component tools').waitFor()
    await row.getByText('Published').waitFor()
    const index = `${daemon.url}/repos/dists/acme/tools/binary-amd64/Packages`
    await expect.poll(async () => (await fetch(index)).text(), { timeout: 20_000 }).toMatch(/^Package: crane$/m)
  })
})
