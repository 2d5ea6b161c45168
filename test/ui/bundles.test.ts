import { mkdtempSync } from 'node:fs'
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN, startDaemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { registryCalls } from '../support/registry-publish.ts'
import { importBundle, makeBundle, receiptOf, type Installation } from '../support/sites.ts'
import { dropFiles, noBrowser } from './support/browser.ts'
import { people } from './support/people.ts'
import { settled } from './support/visits.ts'

describe.skipIf(noBrowser !== undefined)('bundles in the console', () => {
  let page: Page
  /** The installation with a line; the one that the browser looks at has none. */
  let hub: Installation
  const stick = mkdtempSync(join(tmpdir(), 'gh-stick-'))
  const made = mkdtempSync(join(tmpdir(), 'gh-made-'))
  const team = people(
    stage => {
      page = stage.page
    },
    { IMPORT_ROOTS: stick },
  )
  const { asAdmin, signIn, addUser, isFine } = team
  const button = (name: string | RegExp) => page.getByRole('button', { name }).first()
  const link = (name: string | RegExp) => page.getByRole('link', { name }).first()
  const asked = () => page.getByRole('dialog')
  const drawer = (name: string) => page.getByRole('complementary', { name, exact: true })
  let token = ''
  const get = async <T>(path: string): Promise<T> => (await team.daemon.call<T>('GET', path, { token })).body
  const names = async (): Promise<string[]> => {
    const { items } = await get<{ items: { name: string }[] }>('/artifacts/?distribution=jammy')
    return items.map(({ name }) => name).sort()
  }
  const bundleFor = (only?: string) =>
    makeBundle(hub, { site: 'plant', ...(only === undefined ? {} : { base: 'bundle', packages: [only] }) }, made)

  beforeAll(async () => {
    token = (await team.daemon.call<{ access_token: string }>('POST', '/auth/token', { body: ADMIN })).body.access_token
    await team.daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
    const daemon = await startDaemon()
    const boss = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token: boss, body: { codename: 'jammy' } })
    const { text: key } = await daemon.call('GET', '/repos/gpg.key')
    const { body } = await daemon.call<{ key: { fingerprint: string } }>('GET', '/bundles', { token: boss })
    hub = { daemon, token: boss, key, fingerprint: body.key.fingerprint }
    for (const name of ['badge-kiosk', 'label-printer'])
      await daemon.upload(await buildDeb({ name, version: '1.0' }), { token: boss })
    await daemon.call('POST', '/bundles/sites', { token: boss, body: { name: 'plant', label: 'Plant' } })
    const { text: ours } = await team.daemon.call('GET', '/repos/gpg.key')
    await daemon.call('PUT', '/bundles/sites/plant/key', { token: boss, body: { public_key: ours } })
    await addUser('rui', 'reader')
    await addUser('mary', 'maintainer')
  })
  afterAll(async () => {
    await hub?.daemon.close()
    for (const folder of [stick, made]) await rm(folder, { recursive: true, force: true })
  })

  test('a bundle that is dropped is looked at; its sender is trusted by an admin; then it goes through the gate', async () => {
    const { path, name } = await bundleFor()
    await asAdmin('#/import?tab=bundles')
    await page.getByText('No bundle was made or taken in yet').waitFor()
    await isFine()
    await dropFiles(page, 'body', [{ name: `${name}.bundle.tar`, bytes: await readFile(path) }])
    await page.getByRole('heading', { name }).waitFor()
    await page.getByRole('alert').getByText('which is not pinned here', { exact: false }).waitFor()
    expect(await button('Take it in').getAttribute('aria-disabled')).toBe('true')
    await isFine()
    await button('Trust its sender').click()
    expect((await asked().getByLabel('Fingerprint').inputValue()).toUpperCase()).toBe(hub.fingerprint.toUpperCase())
    await asked().getByLabel('Name').fill('hub')
    await asked().getByRole('button', { name: 'Trust it' }).click()
    await page.getByText('Signed by hub.').waitFor()
    await isFine()
    await button('Take it in').press('Enter')
    await page.getByRole('heading', { name: '2 of 2 are served here' }).waitFor()
    await isFine()
    expect(await names()).toEqual(['badge-kiosk', 'label-printer'])
    const saved = page.waitForEvent('download')
    await button('Receipt for hub').click()
    expect((await saved).suggestedFilename()).toMatch(/\.receipt\.tar$/)
    await link('To the list').click()
    await drawer(name).getByText('2 published').waitFor()
    await isFine()
  })

  test('a bundle on a stick is found below the allowed directory, and one that follows a lost one says which', async () => {
    for (const name of ['weigh-bridge', 'line-clock'])
      await hub.daemon.upload(await buildDeb({ name, version: '1.0' }), { token: hub.token })
    await bundleFor('weigh-bridge') // lost on the way
    const third = await bundleFor('line-clock')
    await mkdir(join(stick, 'from-hub'))
    await copyFile(third.path, join(stick, 'from-hub', `${third.name}.bundle.tar`))
    await writeFile(join(stick, 'half.bundle.tar'), (await readFile(third.path)).subarray(0, 4_000))
    await signIn('mary', '#/import?tab=bundles')
    await link('Take a bundle in').click()
    await page.getByText('half.bundle.tar').first().waitFor()
    await isFine()
    await link('half.bundle.tar: Look at it').click()
    await page.getByRole('alert').getByText('half.bundle.tar', { exact: false }).waitFor()
    await button('Choose another').click()
    await link(`${third.name}.bundle.tar: Look at it`).click()
    await page.getByText('Did not come before it: 0002.').waitFor()
    await isFine()
    await button('Take it in').click()
    await page.getByText('Did not come before it: 0002.', { exact: false }).waitFor()
    await page.getByRole('heading', { name: '1 of 1 are served here' }).waitFor()
    await isFine()
    await link('Bundles').click()
    await drawer('Sites and senders').getByText('Did not come: 0002.', { exact: false }).waitFor()
    const { packages } = await bundleFor()
    expect(packages).toBeGreaterThan(0)
  })

  test('a site is added and pinned, its bundle is made in steps, written to a stick, and told by its receipt', async () => {
    // roles swapped: the browser’s side is the one with a line now
    const { text: theirs } = await hub.daemon.call('GET', '/repos/gpg.key')
    await asAdmin('#/import?tab=bundles')
    await button('Add a site').click()
    await asked().getByLabel('Name', { exact: true }).fill('Ship Alva')
    await asked().getByRole('button', { name: 'Add it' }).click()
    await asked().getByText('lower-case letters, digits or hyphens', { exact: false }).waitFor()
    await isFine()
    await asked().getByLabel('Name', { exact: true }).fill('ship')
    await asked().getByLabel('What people call it').fill('Ship Alva')
    await asked().getByRole('button', { name: 'Add it' }).click()
    await page.getByText('No key is pinned, so its receipts are refused.').waitFor()
    await button('More about Ship Alva').click()
    await page.getByRole('menuitem', { name: 'Pin its key' }).click()
    await asked().getByLabel('Public key').fill(theirs)
    await asked().getByRole('button', { name: 'Pin it' }).click()
    await page.getByText('The key of Ship Alva is pinned').waitFor()
    await isFine()

    await link('Ship Alva: Make a bundle').click()
    await page.getByRole('heading', { name: 'What is new for Ship Alva' }).waitFor()
    await page.getByText('3 new, 0 newer versions', { exact: false }).waitFor()
    await isFine()
    await page.getByLabel('What goes', { exact: true }).selectOption('package')
    await page.getByLabel('Package', { exact: true }).fill('no-such-thing')
    await page.getByRole('alert').getByText('no-such-thing', { exact: false }).waitFor()
    await page.getByLabel('Package', { exact: true }).fill('badge-kiosk')
    await page.getByText('1 new, 0 newer versions', { exact: false }).waitFor()
    await page.getByLabel('Vulnerability data').uncheck()
    await button('Make the bundle').press('Enter')
    await page.getByRole('heading', { name: /ship-0001 is made/ }).waitFor()
    await isFine()
    await button('Write to a directory or stick').click()
    await asked().getByLabel(stick).check()
    await isFine()
    await asked().getByRole('button', { name: 'Write it' }).click()
    await page.getByText('is being written').waitFor()
    await link('To the list').click()
    await page.getByText('Not yet confirmed').first().waitFor()
    await isFine()

    const file = (await get<{ bundles: { file_name: string }[] }>('/bundles')).bundles[0]?.file_name ?? ''
    await expect
      .poll(() =>
        readFile(join(stick, file)).then(
          bytes => bytes.length,
          () => 0,
        ),
      )
      .toBeGreaterThan(1_000)
    const { body } = await team.daemon.call<{ key: { fingerprint: string } }>('GET', '/bundles', { token })
    const pinned = { name: 'plant', fingerprint: body.key.fingerprint }
    await hub.daemon.call('POST', '/bundles/senders', { token: hub.token, body: pinned })
    await importBundle(hub, join(stick, file))
    await writeFile(join(stick, 'ship.receipt.tar'), await receiptOf(hub))
    await link('Bundles').or(button('Read a receipt')).first().waitFor()
    await button('Read a receipt').click()
    await asked().getByLabel('ship.receipt.tar', { exact: false }).check()
    await asked().getByRole('button', { name: 'Read it' }).click()
    await asked().getByText('Every bundle up to 1 came.', { exact: false }).waitFor()
    await isFine()
    await asked().getByRole('button', { name: 'Close' }).click()
    await drawer(file.replace('.bundle.tar', '')).getByText('What happened there').waitFor()
    await isFine()
  })

  test('a registry is chosen beside distributions, and the report says which tag stays as it is here', async () => {
    for (const one of [hub, { daemon: team.daemon, token }]) {
      await one.daemon.call('POST', '/registries/', { token: one.token, body: { name: 'parts', format: 'npm' } })
      const calls = registryCalls(one.daemon, one.token)
      for (const version of ['1.0.0', '1.1.0']) await calls.npm('parts', { name: 'bolt', version })
    }
    await asAdmin('#/import?tab=bundles')
    await link('Ship Alva: Make a bundle').click()
    await page.getByLabel('Into', { exact: true }).selectOption('parts')
    await page.getByText('The site needs a registry of this name.', { exact: false }).waitFor()
    await page.getByText('Of registries 1 tag and 0 marks.').waitFor()
    await page.getByText('2 new, 0 newer versions', { exact: false }).waitFor()
    await isFine()
    await page.getByLabel('What goes', { exact: true }).selectOption('package')
    await page.getByLabel('Package', { exact: true }).fill('bolt@1.0.0')
    await page.getByText('1 new, 0 newer versions', { exact: false }).waitFor()
    await page.getByLabel('Vulnerability data').uncheck()
    await button('Make the bundle').click()
    await page.getByRole('heading', { name: /ship-0002 is made/ }).waitFor()
    // moved there, and then here
    await registryCalls(hub.daemon, hub.token).distTag('parts', 'bolt', 'latest', '1.0.0')
    await registryCalls(team.daemon, token).distTag('parts', 'bolt', 'latest', '1.0.0')
    await registryCalls(team.daemon, token).distTag('parts', 'bolt', 'latest', '1.1.0')
    const { path, name } = await makeBundle(hub, { site: 'plant', base: 'all', registries: ['parts'] }, made)
    await dropFiles(page, 'body', [{ name: `${name}.bundle.tar`, bytes: await readFile(path) }])
    await page.getByText('Of registries 1 tag and 0 marks.').waitFor()
    await isFine()
    await button('Take it in').click()
    await page.getByText('Tags and marks of registries').waitFor()
    await page.getByText('Stays as here').waitFor()
    await isFine()
  })

  test('a reader is told which roles bundles are for', async () => {
    await signIn('rui', '#/import?tab=bundles')
    await page.getByText('Bundles are for maintainers and admins.').waitFor()
    await isFine()
  })

  test('a maintainer is told which actions are an admin’s', async () => {
    await signIn('mary', '#/import?tab=bundles')
    await settled(page)
    expect(await button('Trust a sender').getAttribute('aria-disabled')).toBe('true')
    await button(/^More about Ship Alva/).click()
    expect(await page.getByRole('menuitem', { name: /^Forget the site/ }).getAttribute('aria-disabled')).toBe('true')
    await page.keyboard.press('Escape')
    expect(await button('Add a site').getAttribute('aria-disabled')).toBeNull()
  })
})
