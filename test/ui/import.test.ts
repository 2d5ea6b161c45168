import { mkdtempSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { osvRecord, osvZip } from '../support/zip.ts'
import { noBrowser } from './support/browser.ts'
import { people } from './support/people.ts'
import { settled } from './support/visits.ts'
import { startVendors, type Vendors } from './support/vendors.ts'

const DAY_MS = 86_400_000

describe.skipIf(noBrowser !== undefined)('import in the console', () => {
  let page: Page
  let admin: string
  let vendors: Vendors
  const trees = mkdtempSync(join(tmpdir(), 'gh-trees-'))
  const team = people(
    stage => {
      ;({ page, admin } = stage)
    },
    { IMPORT_ROOTS: trees },
  )
  const { asAdmin, signIn, addUser, isFine } = team
  const button = (name: string | RegExp) => page.getByRole('button', { name }).first()
  const basket = () => page.getByRole('complementary', { name: 'Basket' })
  const drawer = (name: string) => page.getByRole('complementary', { name })
  const go = (at: string) => page.goto(`${team.daemon.url}/${at}`)
  const find = (words: string) => page.getByLabel('Search all sources').fill(words)
  const get = async <T>(path: string): Promise<T> => (await team.daemon.call<T>('GET', path, { token: admin })).body
  /** The lines of the tree as `level name`. */
  const tree = () =>
    page
      .getByRole('treeitem')
      .evaluateAll(lines =>
        lines.map(line => `${line.getAttribute('aria-level')} ${line.querySelector('b')?.textContent ?? ''}`),
      )

  beforeAll(async () => {
    const login = await team.daemon.call<{ access_token: string }>('POST', '/auth/token', { body: ADMIN })
    const token = login.body.access_token
    await team.daemon.call('POST', '/distributions/init', { token, body: { codename: 'bookworm' } })
    vendors = await startVendors(async (method, path, body) => {
      const { status, text } = await team.daemon.call(method, path, { token, body })
      if (status >= 400) throw new Error(`${path}: ${text}`)
    })
    await addUser('rui', 'reader')
  })
  afterAll(async () => {
    await vendors?.close()
    await rm(trees, { recursive: true, force: true })
  })

  test('the first sync is a button; then a package is found, shows what it brings, is imported and removed', async () => {
    await asAdmin('#/import?for=bookworm')
    await page.getByText('Nothing was synchronised yet').waitFor()
    await isFine()
    await button('Run first sync').click()
    await page.getByText('What shall come in?').waitFor()
    await find('postgres')
    const found = page.getByRole('region', { name: 'Search results' })
    await found.getByText('front-end programs for PostgreSQL 15').waitFor()
    await button(/^Add postgresql-15 /).press('Enter')

    await page.getByRole('treeitem').nth(5).waitFor()
    expect(await tree()).toEqual([
      '1 postgresql-15',
      '2 postgresql-client-15',
      '3 libpq5',
      '3 postgresql-client-common',
      '2 postgresql-common',
      '2 libicu72',
    ])
    expect(await page.getByRole('treeitem', { name: /libpq5/ }).innerText()).toMatch(
      /15\.15-0\+deb12u1\s+new\s+\d+\sbytes/,
    )
    await page.getByRole('treeitem').first().focus()
    await page.keyboard.press('ArrowLeft')
    expect(await tree()).toEqual(['1 postgresql-15'])
    await page.keyboard.press('ArrowRight')
    await isFine()

    let answer = (): void => undefined
    const until = new Promise<void>(resolve => {
      answer = resolve
    })
    vendors.upstream.rules({ match: /libicu72.*\.deb$/, until })
    await button('Import 6 packages').click()
    await basket().getByRole('heading', { name: 'Importing postgresql-15' }).waitFor()
    await basket().getByRole('progressbar', { name: 'Progress of the import' }).waitFor()
    await go('#/packages')
    await button('1 job open').click()
    const jobs = page.getByRole('dialog', { name: 'Jobs' })
    await jobs.getByRole('progressbar', { name: 'Progress of Import packages' }).waitFor()
    await isFine()
    await page.reload() // the next window knows nothing of the import
    await button('1 job open').press('Enter')
    await jobs.getByRole('link', { name: 'Import packages, postgresql-15-bookworm' }).click()
    await basket().getByRole('heading', { name: 'Importing postgresql-15' }).waitFor()
    answer()
    await page.getByText('All that was asked for is served.').waitFor()
    await basket().getByText('6 published').waitFor()
    await isFine()

    await basket().getByRole('link', { name: 'The group' }).click()
    const group = drawer('postgresql-15-bookworm')
    await group.getByText('6 packages', { exact: false }).waitFor()
    await isFine()
    await group.getByRole('button', { name: 'Remove' }).click()
    const asked = page.getByRole('dialog')
    await asked.getByLabel('Remove its packages, too').check()
    await asked.getByRole('button', { name: 'Remove group and packages' }).click()
    await page.getByText('Nothing was imported yet').waitFor()
    const { items } = await get<{ items: object[] }>('/artifacts/?distribution=bookworm')
    expect(items).toEqual([])
  })

  test('what no source has is said where it stands in the tree, with a way to look further', async () => {
    await asAdmin('#/import?for=bookworm&q=plpython')
    await button(/^Add postgresql-plpython3-15 /).click()
    await basket().getByText('postgresql-plpython3-15 15.14-0+deb12u1 needs libpython3.11.').waitFor()
    expect(await page.getByRole('treeitem', { name: /libpython3\.11/ }).innerText()).toContain('not found')
    await isFine()
    await basket().getByRole('button', { name: 'Search “libpython3.11” everywhere' }).click()
    await page.getByText('No source lists “libpython3.11”').waitFor()
  })

  test('what a Dockerfile installs is looked up, and what can be imported goes into the basket', async () => {
    await asAdmin('#/import?for=bookworm')
    await button('From a Dockerfile').click()
    const asked = page.getByRole('dialog')
    await asked.getByRole('textbox', { name: 'Dockerfile' }).fill('FROM scratch\nRUN apt-get install -y curl')
    await asked.getByRole('button', { name: 'Look' }).click()
    await asked.getByText('so nothing was looked up', { exact: false }).waitFor()
    expect(await asked.getByRole('button', { name: 'Put into' }).getAttribute('aria-disabled')).toBe('true')
    await asked.getByRole('button', { name: 'Back' }).click()
    await asked
      .getByRole('textbox', { name: 'Dockerfile' })
      .fill('FROM debian:12\nRUN apt-get update && apt-get install -y curl postgresql-15 no-such-thing')
    await asked.getByRole('button', { name: 'Look' }).click()
    await asked.getByText('It installs 3 packages, looked up for bookworm.').waitFor()
    await asked.getByText('Nobody lists it').waitFor()
    await isFine()
    await asked.getByLabel('curl').uncheck()
    await asked.getByRole('button', { name: 'Put 1 package into the basket' }).click()
    const wishes = basket().getByRole('list', { name: 'Asked for' }).getByRole('listitem')
    await wishes.first().waitFor()
    expect(await wishes.allInnerTexts()).toEqual(['postgresql-15'])
    await basket().getByText('nothing is known of these packages beforehand', { exact: false }).waitFor()
    await isFine()
  })

  test('what the gate would hold is marked in the tree before anything is fetched', async () => {
    const form = new FormData()
    const records = [
      ...Array.from({ length: 150 }, (_, n) =>
        osvRecord(`DEBIAN-CVE-2020-${20_000 + n}`, [['Debian:12', `filler${n}`, '1']]),
      ),
      osvRecord('DEBIAN-CVE-2026-4711', [['Debian:12', 'libpq5', '16']], {
        severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H' }],
      }),
    ]
    form.set('file', new Blob([new Uint8Array(osvZip(records))]), 'all.zip')
    const loaded = await team.daemon.call('POST', '/security/database', { token: admin, form })
    expect(loaded.status, loaded.text).toBeLessThan(300)
    await asAdmin('#/import?for=bookworm&q=curl')
    await button(/^Add curl /).click()
    await page.getByRole('treeitem', { name: /^libpq5 .*(held|blocked)/ }).waitFor()
    await basket().getByText('The gate would', { exact: false }).waitFor()
    await isFine()
  })

  test('a source that answers with an older state shows its word, what stands, and who may accept it', async () => {
    await vendors.renew(new Date(Date.now() - 40 * DAY_MS))
    await asAdmin('#/import?tab=sources')
    await page.getByRole('row', { name: /Debian 12 security/ }).waitFor()
    await button('Sync Debian 12 security').click()
    await page.getByRole('row', { name: /Older than before/ }).waitFor()
    await isFine()
    await page.getByRole('link', { name: 'Debian 12 security' }).click()
    await drawer('Debian 12 security').getByText('stays in use', { exact: false }).waitFor()
    await isFine()
    await button('Accept the older state once').click()
    const asked = page.getByRole('dialog')
    await asked.getByRole('textbox').fill('The vendor took a release back, says their list.')
    await asked.getByRole('button', { name: /^Accept/ }).click()
    await drawer('Debian 12 security').getByText('In step').waitFor()
    const { sources } = await get<{ sources: { source_id: string; state: string }[] }>('/import/sync-status')
    expect(sources.find(({ source_id: key }) => key === 'bookworm-security')?.state).toBe('ok')
  })

  test('a tree of another tool is adopted with what it brings counted, and a path elsewhere is refused at its field', async () => {
    await mkdir(join(trees, 'aptly'))
    for (const name of ['label-printer', 'badge-kiosk'])
      await writeFile(join(trees, 'aptly', `${name}.deb`), await buildDeb({ name, version: '1.0' }))
    await writeFile(join(trees, 'aptly', 'broken.deb'), 'no package')
    await asAdmin('#/import?tab=adopt')
    await button('Another folder').click()
    const asked = page.getByRole('dialog')
    await asked.getByLabel('Folder').fill('/etc')
    await asked.getByRole('button', { name: 'Adopt it' }).click()
    await asked.getByText(trees, { exact: false }).waitFor()
    // reloading asks the browser's way
    const stays = page.waitForEvent('dialog').then(async one => (await one.dismiss(), one.type()))
    await page.evaluate(() => void setTimeout(() => location.reload()))
    expect(await stays).toBe('beforeunload')
    await page.keyboard.press('Escape')
    await asked.getByRole('button', { name: 'Discard it' }).click()
    await button(`Adopt ${join(trees, 'aptly')}`).click()
    expect(await asked.getByLabel('Folder').inputValue()).toBe(join(trees, 'aptly'))
    await isFine()
    await asked.getByRole('button', { name: 'Adopt it' }).click()
    const card = page.getByRole('region', { name: 'Adoption into bookworm' })
    await card.getByText('2 published').waitFor()
    await card.getByText('1 left out').waitFor()
    await card.getByText('What is not served, and why').click()
    await card.getByText('broken.deb').waitFor()
    await isFine()
  })

  test('a reader may look for packages, and is told why nothing can be imported or changed', async () => {
    await signIn('rui', '#/import?for=bookworm&q=curl')
    await button(/^Add curl /).click()
    await page.getByRole('treeitem').first().waitFor()
    expect(await button(/^Import \d/).getAttribute('aria-disabled')).toBe('true')
    await go('#/import?tab=sources')
    await page.getByRole('row', { name: /Debian 12 security/ }).waitFor()
    await settled(page)
    expect(await button('Add source').getAttribute('aria-disabled')).toBe('true')
    await isFine()
  })
})
