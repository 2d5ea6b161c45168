import { createHash } from 'node:crypto'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { noBrowser } from './support/browser.ts'
import { people, type Stage } from './support/people.ts'

const TRANSLATION = Buffer.from(
  'Package: hello\nDescription-md5: 0123456789abcdef0123456789abcdef\nDescription-de: Grüßt\n',
)
const COMPS = Buffer.from('<?xml version="1.0"?>\n<comps><group><id>core</id></group></comps>\n')

describe.skipIf(noBrowser !== undefined)('what a tree carries beside its packages', () => {
  let page: Page
  let stage: Stage
  const it = people(given => {
    stage = given
    page = given.page
  })
  const dialog = () => page.getByRole('dialog')
  const press = (name: string | RegExp) => dialog().getByRole('button', { name }).click()
  const more = async (codename: string, act: string): Promise<void> => {
    await page.getByRole('button', { name: `More about ${codename}` }).click()
    await page.getByRole('menuitem', { name: act }).click()
  }
  const give = (name: string, buffer: Buffer) =>
    dialog().getByLabel('The document').setInputFiles({ name, mimeType: 'text/plain', buffer })
  const documents = async (codename: string) =>
    (await stage.daemon.call('GET', `/distributions/${codename}/documents`, { token: stage.admin })).body.documents
  beforeAll(async () => {
    const token = (
      await it.daemon.call<{ access_token: string }>('POST', '/auth/token', {
        body: { username: 'admin', password: 'Correct-horse-9' },
      })
    ).body.access_token
    for (const codename of ['jammy', 'noble', 'almalinux9', 'alpine3.20'])
      expect(
        (await it.daemon.call('POST', '/distributions/init', { token, body: { codename } })).status,
        codename,
      ).toBe(200)
  }, 120_000)

  test('a translation is added, refused where clients could not read it, replaced, copied and deleted', async () => {
    await it.asAdmin('#/distributions')
    await more('jammy', 'Documents')
    await dialog().getByText('There is none').waitFor()
    await press('Add a document')
    await dialog().getByLabel('Language').fill('de')
    await give('Translation-de', Buffer.from('Package: hello\n'))
    await press(/^Add$/)
    await dialog()
      .getByText(/is refused: .*Description-md5/)
      .waitFor()
    expect(await documents('jammy')).toEqual([])
    await give('Translation-de', TRANSLATION)
    await it.isFine()
    await press(/^Add$/)
    await dialog()
      .getByRole('row', { name: /Translated descriptions/ })
      .getByText('main, de')
      .waitFor()
    await dialog().getByText('1 entry').waitFor()
    const [first] = (await documents('jammy')) as { sha256: string }[]
    const sha256 = createHash('sha256').update(TRANSLATION).digest('hex')
    expect(first).toMatchObject({ kind: 'translation', component: 'main', arch: '', name: 'de', sha256, by: 'admin' })
    await dialog().getByTitle(sha256).waitFor()
    await it.isFine()

    await press('Replace translation, main, de')
    await dialog()
      .getByText(/takes the place of the one of \d+ bytes by admin/)
      .waitFor()
    await give('Translation-de', Buffer.concat([TRANSLATION, Buffer.from('\n'), TRANSLATION]))
    await press(/^Replace$/)
    await dialog().getByText('2 entries').waitFor()
    await press('Close')

    await more('noble', 'Documents')
    await press('Copy from another distribution')
    await dialog().getByLabel('From').selectOption('jammy')
    await dialog().getByText('main, de').waitFor()
    await it.isFine()
    await press('Copy 1 document')
    await dialog().getByText('2 entries').waitFor()

    await press('Delete translation, main, de')
    await dialog().getByText('Clients with this language see the descriptions as the packages have them.').waitFor()
    await it.isFine()
    await press('Delete the document')
    await dialog().getByText('There is none').waitFor()
    expect([await documents('noble'), await documents('jammy')]).toMatchObject([[], [{ entries: 2 }]])
  })

  test('another format offers its own kinds, and one without documents and Release file none', async () => {
    await it.asAdmin('#/distributions')
    await more('almalinux9', 'Documents')
    await press('Add a document')
    await dialog().getByLabel('Kind').selectOption('group')
    await dialog().getByLabel('Architecture').selectOption('aarch64')
    await give('comps.xml', COMPS)
    await press(/^Add$/)
    await dialog()
      .getByRole('row', { name: /Package groups/ })
      .getByText('aarch64')
      .waitFor()
    await press('Close')
    const items = async (codename: string): Promise<string[]> => {
      await page.getByRole('button', { name: `More about ${codename}` }).click()
      const names = await page.getByRole('menuitem').allTextContents()
      await page.keyboard.press('Escape')
      return names.map(name => name.trim()).filter(name => ['Documents', 'Release file'].includes(name))
    }
    expect([await items('jammy'), await items('almalinux9'), await items('alpine3.20')]).toEqual([
      ['Documents', 'Release file'],
      ['Documents'],
      [],
    ])
  })

  test('the Release file gets its words and its end, and the dialog says until when it is valid', async () => {
    await it.asAdmin('#/distributions')
    await more('jammy', 'Release file')
    await dialog().getByText('for ever', { exact: true }).waitFor()
    const upgrades = dialog().getByRole('checkbox', { name: /ButAutomaticUpgrades/ })
    expect(await upgrades.isDisabled()).toBe(true)
    await dialog()
      .getByRole('checkbox', { name: /NotAutomatic/ })
      .check()
    await upgrades.check()
    await dialog().getByLabel('Valid for days').fill('4000')
    await dialog().getByText('A whole number up to 3,650').first().waitFor()
    await dialog().getByLabel('Valid for days').fill('10')
    await it.isFine()
    await press('Save')
    await dialog().waitFor({ state: 'detached' })
    const { body } = await stage.daemon.call('GET', '/distributions/jammy/release', { token: stage.admin })
    expect(body).toMatchObject({ not_automatic: true, but_automatic_upgrades: true, valid_days: 10 })
    await expect
      .poll(async () => (await fetch(`${stage.daemon.url}/repos/dists/jammy/InRelease`)).text(), { timeout: 20_000 })
      .toMatch(/^Valid-Until: /m)
    await more('jammy', 'Release file')
    await dialog()
      .getByText(/or earlier when something changes/)
      .waitFor()
    await it.isFine()
  })

  test('who may only read sees the documents and changes nothing', async () => {
    await it.addUser('t.reader', 'uploader')
    await it.signIn('t.reader', '#/distributions')
    await more('jammy', 'Documents')
    await dialog().getByText('2 entries').waitFor()
    for (const name of ['Add a document', 'Replace translation, main, de', 'Copy from another distribution'])
      expect(await dialog().getByRole('button', { name }).getAttribute('aria-disabled'), name).toBe('true')
    await press('Close')
    await more('jammy', 'Release file')
    await dialog()
      .getByText(/or earlier when something changes/)
      .waitFor()
    expect(await dialog().getByRole('button', { name: 'Save' }).getAttribute('aria-disabled')).toBe('true')
  })
})
