import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { buildNpm } from '../support/packages-npm.ts'
import { buildSdist, buildWheel, sdistName, wheelName } from '../support/packages-pypi.ts'
import { noBrowser } from './support/browser.ts'
import { people } from './support/people.ts'
import { settled } from './support/visits.ts'
import { walkWithTab } from './support/tab-walk.ts'

describe.skipIf(noBrowser !== undefined)('registries', () => {
  let page: Page
  let admin: string
  const it = people(stage => {
    ;({ page, admin } = stage)
  })
  const dialog = () => page.getByRole('dialog')
  const row = (name: string) => page.getByRole('table', { name: 'Registries' }).getByRole('row', { name })
  const drawer = () => page.getByRole('complementary', { name: /^Set up a client of/ })

  async function make(name: string, format = 'npm'): Promise<void> {
    const { status, text } = await it.daemon.call('POST', '/registries/', {
      token: admin,
      body: { name, format },
    })
    expect([status, text]).toEqual([201, expect.anything()])
  }
  /** As `npm publish` sends it. */
  async function publish(registry: string, name: string, version: string, more = {}): Promise<void> {
    const json = { description: 'Shows a badge.', license: 'MIT', ...more }
    const data = buildNpm({ name, version, json }).toString('base64')
    const response = await fetch(`${it.daemon.url}/npm/${registry}/${name.replace('/', '%2f')}`, {
      method: 'PUT',
      headers: { 'Authorization': `Bearer ${admin}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        '_id': name,
        name,
        'dist-tags': { latest: version },
        'versions': { [version]: { name, version, ...json } },
        '_attachments': { [`${name}-${version}.tgz`]: { content_type: 'application/octet-stream', data } },
      }),
    })
    expect([response.ok, await response.text()]).toEqual([true, expect.anything()])
  }

  test('an admin makes one, is told at the field what is wrong, changes and deletes it', async () => {
    await it.asAdmin('#/registries')
    await page.getByRole('heading', { name: 'No registry yet' }).waitFor()
    await page.getByRole('button', { name: 'New registry' }).click()
    await dialog().getByLabel('Name').fill('Ours!')
    await dialog().getByText('/npm/Ours!/').waitFor()
    await dialog().getByRole('button', { name: 'Make it' }).click()
    await dialog().locator('.field .error').waitFor()
    await it.isFine()
    await dialog().getByLabel('Name').fill('jammy') // a distribution has it
    await dialog().getByRole('button', { name: 'Make it' }).click()
    await dialog().locator('.field .error').waitFor()
    await dialog().getByLabel('Name').fill('ours')
    await dialog().getByLabel('Label').fill('Packages of the house')
    await dialog().getByRole('button', { name: 'Make it' }).click()
    // what comes next is its first client
    await drawer().waitFor()
    await row('ours').getByText('Packages of the house').waitFor()
    await row('ours').getByText('empty').waitFor()
    await it.isFine()

    await page.getByRole('button', { name: 'Close (Esc)' }).click()
    await row('ours').getByRole('button', { name: 'More about ours' }).click()
    await page.getByRole('menuitem', { name: 'Change' }).click()
    await dialog().getByLabel('Label').fill('The house')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await row('ours').getByText('The house', { exact: true }).waitFor()
    await row('ours').getByRole('button', { name: 'More about ours' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await dialog().getByText('Its address answers 404 from then on').waitFor()
    await dialog().getByText('Who may see it stays as it is set').waitFor()
    await it.isFine()
    await dialog().getByRole('button', { name: 'Delete the registry' }).click()
    await page.getByRole('heading', { name: 'No registry yet' }).waitFor()
    await page.goto(`${it.daemon.url}/#/registries?in=ours`)
    await page.getByRole('heading', { name: 'There is no registry ours' }).waitFor()
    await it.isFine()
  })

  test('how many builds of a snapshot are kept is said where nobody chose, and taken as far as the server goes', async () => {
    await make('builds', 'maven')
    await it.asAdmin('#/registries?in=builds')
    await page.getByRole('button', { name: 'More about builds' }).click()
    await page.getByRole('menuitem', { name: 'Change' }).click()
    const kept = dialog().getByLabel('Builds of a snapshot that are kept')
    await dialog().getByText('empty: the newest 10').waitFor()
    await kept.fill('10001')
    await dialog().getByText('A whole number from 1 to 10,000, or nothing.').first().waitFor()
    await kept.fill('10000')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await dialog().waitFor({ state: 'detached' })
    const { body } = await it.daemon.call('GET', '/registries/builds', { token: admin })
    expect(body).toMatchObject({ snapshots_kept: 10_000 })
    expect((await it.daemon.call('DELETE', '/registries/builds', { token: admin })).status).toBe(204)
  })

  test('a package is published, found, seen with its versions, and its tag is moved with what it named before', async () => {
    await make('house')
    await publish('house', '@ours/badge', '1.0.0')
    await publish('house', '@ours/badge', '1.1.0', { dependencies: { 'left-grid': '^2.0.0' } })
    await publish('house', 'plain', '0.1.0')
    await it.asAdmin('#/registries?q=badge')
    await page.getByRole('link', { name: '@ours/badge' }).waitFor()
    await page.goto(`${it.daemon.url}/#/registries`)
    await row('house').getByText('3 served').waitFor()
    await it.isFine()
    await row('house').getByRole('link', { name: 'house', exact: true }).click()
    const names = page.getByRole('table', { name: 'Packages of house' })
    await names.getByRole('row', { name: /@ours\/badge.*1\.1\.0.*latest/ }).waitFor()
    expect(await names.getByRole('row').count()).toBe(3)
    await it.isFine()

    await names.getByRole('link', { name: '@ours/badge' }).click()
    await it.heading('@ours/badge').waitFor()
    const versions = page.getByRole('table', { name: 'Versions' })
    await versions.getByRole('row', { name: /^1\.1\.0 .*latest/ }).waitFor()
    await page.getByRole('region', { name: 'the install command' }).getByText('@ours/badge@1.1.0').waitFor()
    await page.getByRole('region', { name: 'Needs' }).getByText('left-grid').waitFor()
    await it.isFine()

    await page.getByRole('button', { name: 'Copy SHA-512' }).click()
    await page.getByText('SHA-512 copied').waitFor()
    await page.getByRole('button', { name: 'Move latest' }).click()
    await dialog().getByText('1.1.0').first().waitFor()
    await dialog().getByLabel('To').selectOption('1.0.0')
    await dialog().getByText('Clients that ask for latest get 1.0.0 from then on.').waitFor()
    await it.isFine()
    await dialog().getByRole('button', { name: 'Move the tag' }).click()
    await versions.getByRole('row', { name: /^1\.0\.0 .*latest/ }).waitFor()
    const tags = page.getByRole('region', { name: 'Tags' })
    await tags.getByText('from 1.1.0').waitFor()
    await page.getByRole('button', { name: 'New tag' }).click()
    await dialog().getByLabel('Tag').fill('next')
    await dialog().getByLabel('To').selectOption('1.1.0')
    await dialog().getByRole('button', { name: 'Make the tag' }).click()
    await versions.getByRole('row', { name: /^1\.1\.0 .*next/ }).waitFor()
    await page.getByRole('button', { name: 'Remove the tag next' }).click()
    await dialog().getByRole('button', { name: 'Remove the tag' }).click()
    await tags.getByText('next', { exact: true }).waitFor({ state: 'detached' })

    // a whole name is deleted here and nowhere else, after its name was typed
    await page.getByRole('button', { name: 'Delete all' }).click()
    await dialog().getByLabel('Type @ours/badge to confirm').fill('@ours/badge')
    await dialog().getByRole('button', { name: 'Delete all versions' }).click()
    await it.heading('house').waitFor()
    await names.getByRole('link', { name: '@ours/badge' }).waitFor({ state: 'detached' })
    await names.getByRole('link', { name: 'plain' }).waitFor()
  })

  test('each client has lines to copy, and one that shows whether it works; J and K go on to the next registry', async () => {
    const { body } = await it.daemon.call<{ formats: { id: string; registry: boolean }[] }>('GET', '/formats', {
      token: admin,
    })
    const formats = body.formats.filter(one => one.registry).map(one => one.id)
    for (const format of formats) await make(`lines-${format}`, format)
    await it.asAdmin('#/registries?setup=lines-npm')
    await drawer().waitFor()
    const tabs = drawer().getByRole('tab')
    await tabs.first().waitFor()
    expect(await tabs.allInnerTexts()).toEqual(expect.arrayContaining(['npm']))
    const root = `${it.daemon.url}/npm/lines-npm`
    expect(await drawer().innerText()).toContain(root)
    await tabs.first().focus()
    await page.keyboard.press('ArrowRight')
    expect(await tabs.nth(1).getAttribute('aria-selected')).toBe('true')
    for (const [key, chosen] of [
      ['End', tabs.last()],
      ['ArrowRight', tabs.first()],
      ['ArrowLeft', tabs.last()],
      ['Home', tabs.first()],
    ] as const) {
      await page.keyboard.press(key)
      await chosen.and(page.locator('[aria-selected="true"]:focus')).waitFor()
    }
    await it.isFine()
    const others = ['pypi', 'maven', 'oci'].filter(one => formats.includes(one)).map(one => `lines-${one}`)
    for (const next of others) {
      await page.keyboard.press('j')
      await page.getByRole('complementary', { name: `Set up a client of ${next}` }).waitFor()
      await drawer().getByRole('tab').first().waitFor()
      expect(await drawer().innerText()).toContain(next)
      await it.isFine()
    }
    const before = ['lines-npm', ...others].at(-2)
    if (before !== undefined) {
      await page.keyboard.press('k')
      await page.getByRole('complementary', { name: `Set up a client of ${before}` }).waitFor()
    }
    await page.keyboard.press('Escape')
    await drawer().waitFor({ state: 'detached' })
  })

  test('registries stand beside distributions: in filters, targets of uploads, scopes of tokens, and the palette', async () => {
    await make('beside')
    await publish('beside', 'near', '1.0.0')
    await it.asAdmin('#/packages')
    const filter = page.getByLabel('Distribution', { exact: true })
    await filter.locator('optgroup[label="Registries"] option', { hasText: 'beside' }).waitFor({ state: 'attached' })
    await filter.selectOption('beside')
    await page.getByRole('table', { name: 'Packages' }).getByText('near').waitFor()
    await page.goto(`${it.daemon.url}/#/upload`)
    await page.getByLabel('Registry for .tgz').selectOption('beside')
    await page.goto(`${it.daemon.url}/#/users?tab=tokens`)
    await page.getByRole('button', { name: 'Create token' }).first().click()
    await dialog().getByText('Only some distributions and registries').click()
    await dialog().getByRole('checkbox', { name: 'beside' }).waitFor()
    await page.keyboard.press('Escape')
    await page.goto(`${it.daemon.url}/#/registries`)
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('beside')
    await page
      .getByRole('group', { name: 'Registries' })
      .getByRole('option', { name: /beside/ })
      .click()
    await it.heading('beside').waitFor()
  })

  test('who may not sees everything, and what is dashed says who may', async () => {
    await make('seen')
    await publish('seen', 'thing', '1.0.0')
    await it.addUser('reader1', 'reader')
    await it.signIn('reader1', '#/registries')
    const add = page.getByRole('button', { name: 'New registry' })
    expect(await add.getAttribute('aria-disabled')).toBe('true')
    await page.getByText('Needs admin. You are').first().waitFor({ state: 'attached' })
    await row('seen').getByRole('button', { name: 'More about seen' }).click()
    expect(await page.getByRole('menuitem', { name: 'Delete' }).getAttribute('aria-disabled')).toBe('true')
    await page.keyboard.press('Escape')
    await page.goto(`${it.daemon.url}/#/registries?in=seen&name=thing`)
    await it.heading('thing').waitFor()
    const moves = page.getByRole('button', { name: 'New tag' })
    await moves.waitFor()
    expect(await moves.getAttribute('aria-disabled')).toBe('true')
    await it.isFine()
  })

  test('at the width of a phone and with Tab alone', async () => {
    await make('narrow')
    await publish('narrow', '@ours/thing-with-a-long-name', '1.0.0-beta.12')
    await it.asAdmin('#/registries')
    for (const at of [
      'registries',
      'registries?setup=narrow',
      'registries?in=narrow',
      'registries?in=narrow&name=%40ours%2Fthing-with-a-long-name',
    ]) {
      await page.setViewportSize({ width: 1440, height: 900 })
      await page.goto(`${it.daemon.url}/#/${at}`)
      await settled(page)
      expect([at, await walkWithTab(page)]).toEqual([at, []])
      await page.setViewportSize({ width: 420, height: 900 })
      await it.isFine()
    }
  })

  test('a version is yanked and deprecated with a reason that stands wherever it does, and that is taken back', async () => {
    await make('marked')
    await publish('marked', 'aged', '1.0.0')
    await make('snakes', 'pypi')
    const spec = { name: 'regret', version: '1.1' }
    for (const [name, bytes] of [
      [wheelName(spec), buildWheel(spec)],
      [sdistName(spec), buildSdist(spec)],
    ] as const) {
      const form = new FormData()
      form.set('content', new Blob([new Uint8Array(bytes)]), name)
      const headers = { Authorization: `Basic ${Buffer.from(`__token__:${admin}`).toString('base64')}` }
      const sent = await fetch(`${it.daemon.url}/pypi/snakes/legacy/`, { method: 'POST', body: form, headers })
      expect([sent.ok, await sent.text()]).toEqual([true, expect.anything()])
    }
    await it.asAdmin('#/registries')
    for (const [registry, name, version, verb, back, word, says] of [
      ['marked', 'aged', '1.0.0', 'Deprecate', 'Take the deprecation back', 'deprecated', 'npm installs it as before'],
      ['snakes', 'regret', '1.1', 'Yank', 'Take the yank back', 'yanked', 'pip passes it over'],
    ] as const) {
      await page.goto(`${it.daemon.url}/#/registries?in=${registry}&name=${name}`)
      const versions = page.getByRole('table', { name: 'Versions' })
      const more = () => versions.getByRole('button', { name: `More about ${version}` }).first()
      await more().click()
      await page.getByRole('menuitem', { name: verb, exact: true }).click()
      await dialog().getByText(says).waitFor()
      if (registry === 'snakes') await dialog().getByText('All 2 files of the version are marked.').waitFor()
      expect(await dialog().getByRole('button', { name: verb, exact: true }).getAttribute('aria-disabled')).toBe('true')
      await dialog().getByLabel('Reason').fill('It loses data.')
      await it.isFine()
      await dialog().getByRole('button', { name: verb, exact: true }).click()
      await dialog().waitFor({ state: 'detached' })
      await versions.getByText(word, { exact: true }).first().waitFor()
      expect(await versions.getByText('It loses data.').count()).toBe(registry === 'snakes' ? 2 : 1)
      await page.getByText(`${version} is ${word}: It loses data.`).waitFor()
      await it.isFine()
      await page.goto(`${it.daemon.url}/#/packages?q=${name}`)
      const found = page.getByRole('table', { name: 'Packages' })
      await found.getByText(word, { exact: true }).first().waitFor()
      await it.isFine()
      await found.getByRole('link', { name }).first().click()
      await page.getByRole('complementary', { name }).getByText('It loses data.').first().waitFor()
      await it.isFine()
      await page.goto(`${it.daemon.url}/#/registries?in=${registry}`)
      await page
        .getByRole('table', { name: `Packages of ${registry}` })
        .getByText(word, { exact: true })
        .waitFor()
      await it.isFine()
      await page.goto(`${it.daemon.url}/#/registries?in=${registry}&name=${name}`)
      await more().click()
      await page.getByRole('menuitem', { name: back }).click()
      await dialog().getByText('It loses data.').waitFor()
      await it.isFine()
      await dialog().getByRole('button', { name: back }).click()
      await versions.getByText(word, { exact: true }).first().waitFor({ state: 'detached' })
    }
    // a search shows the newest version, whichever was changed last
    for (const version of ['1.0.0', '1.1.0']) await publish('marked', 'twice', version)
    const path = '/registries/marked/packages/twice/versions/1.0.0/mark'
    expect((await it.daemon.call('PUT', path, { token: admin, body: { reason: 'Old.' } })).status).toBe(204)
    await page.goto(`${it.daemon.url}/#/registries?q=twice`)
    const found = page.getByRole('table', { name: 'Packages that were found' })
    await found.getByRole('row', { name: /twice/ }).waitFor()
    expect(await found.getByRole('row', { name: /twice/ }).innerText()).toContain('1.1.0')
    // clients of images know no such word
    await make('pictures', 'oci')
    expect((await it.daemon.call('GET', '/registries/pictures', { token: admin })).body).toMatchObject({ mark: null })
  })
})
