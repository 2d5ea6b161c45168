import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { osvRecord, osvZip } from '../support/zip.ts'
import { dropFiles, noBrowser } from './support/browser.ts'
import { PASSWORD, expectFine, signInAt, visits } from './support/visits.ts'

const JAMMY = 'Ubuntu:22.04:LTS'
const CVE = 'CVE-2026-4711'
/** Enough of a distribution that it counts as one, and one hole in openssh. */
const ADVISORIES = osvZip([
  ...Array.from({ length: 150 }, (_, n) =>
    osvRecord(`UBUNTU-CVE-${2020 + (n % 5)}-${20_000 + n}`, [[JAMMY, `filler${n}`, '1']]),
  ),
  osvRecord(`UBUNTU-${CVE}`, [[JAMMY, 'openssh', '1:9.9']], {
    summary: 'A race before the login.',
    severity: [{ type: 'Ubuntu', score: 'high' }],
  }),
])

describe.skipIf(noBrowser !== undefined)('vulnerability data in the console', () => {
  let daemon: Daemon
  let admin: string
  let page: Page
  visits(
    () => daemon.url,
    opened => {
      page = opened
    },
  )

  beforeAll(async () => {
    daemon = await startDaemon()
    admin = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token: admin, body: { codename: 'jammy' } })
    await daemon.call('POST', '/auth/users', {
      token: admin,
      body: { username: 'mae', password: PASSWORD, role: 'maintainer' },
    })
  })
  afterAll(async () => {
    await daemon?.close()
  })

  const signIn = (at: string, name?: string): Promise<void> => signInAt(page, `${daemon.url}/${at}`, name)
  const isFine = (): Promise<void> => expectFine(page)
  const imports = () => page.getByRole('list', { name: 'Imports' }).getByRole('listitem')

  test('without data nothing is called clean; a broken file is refused with its reason, a real one is loaded and covers its distribution', async () => {
    await signIn('#/health')
    await page.getByText('No vulnerability data are loaded. Uploads are published with a warning.').waitFor()
    await isFine()
    // whatever needs attention says what to do, in words
    const ways = await page.locator('.remedies li').allInnerTexts()
    expect(ways.length).toBeGreaterThan(0)
    expect(ways.filter(text => /^What to do\s*$/.test(text))).toEqual([])
    await page.goto(`${daemon.url}/#/vulnerabilities`)
    await page.getByText('No package was looked at yet').waitFor()
    expect(await page.locator('.empty use').first().getAttribute('href')).toMatch(/unavailable$/) // no shield
    await page.goto(`${daemon.url}/#/engines`)
    await page.getByText('No vulnerability data are loaded. Uploads are published with a warning.').waitFor()
    await isFine()
    await dropFiles(page, 'body', [
      { name: 'holiday.zip', bytes: Buffer.from('no archive') },
      { name: 'all.zip', bytes: ADVISORIES },
    ])
    await imports().filter({ hasText: 'holiday.zip' }).getByRole('button', { name: 'Try again' }).waitFor()
    await imports().filter({ hasText: 'all.zip' }).getByText('151 records').waitFor()
    await page
      .getByRole('row', { name: /^jammy/ })
      .getByText('Covered', { exact: true })
      .waitFor()
    await page
      .getByRole('row', { name: /^noble/ })
      .getByText('Not covered')
      .waitFor()
    expect(await page.getByText('No vulnerability data are loaded.').count()).toBe(0)
    await isFine()
    await dropFiles(page, 'body', [{ name: 'again.zip', bytes: ADVISORIES }])
    await imports()
      .filter({ hasText: 'again.zip' })
      .getByText(/Nothing new|151 records/)
      .waitFor()
  })

  test('an import waits out the limit, goes on while someone looks elsewhere, and is tried again after a lost connection', async () => {
    await signIn('#/engines')
    let asked = 0
    await page.route('**/security/database?*', route => {
      asked++
      if (asked === 1)
        return route.fulfill({
          status: 429,
          contentType: 'application/json',
          body: JSON.stringify({ detail: { error: 'rate_limit_exceeded', message: 'm', limit: 30, retry_after: 1 } }),
        })
      return asked === 2 ? route.abort('connectionreset') : route.continue()
    })
    await dropFiles(page, 'body', [{ name: 'late.zip', bytes: ADVISORIES }])
    await page.getByText('Paused by the limit of imports a minute.').waitFor()
    await page.goto(`${daemon.url}/#/health`)
    await page.getByRole('heading', { level: 1, name: 'Health' }).waitFor()
    await page.goto(`${daemon.url}/#/engines`)
    const late = imports().filter({ hasText: 'late.zip' })
    await late.getByText('The connection ended').waitFor()
    await late.getByRole('button', { name: 'Try again' }).click()
    await late.getByText(/Nothing new|151 records/).waitFor()
    await late.getByRole('button', { name: 'Remove late.zip from the list' }).click()
    await late.waitFor({ state: 'detached' })
    expect(asked).toBe(3)
  })

  test('what is known against an upload is found by vulnerability and by package, and leads to the decision', async () => {
    await daemon.upload(await buildDeb({ name: 'openssh-server', version: '1:8.9', fields: { Source: 'openssh' } }), {
      token: admin,
    })
    await daemon.call('POST', '/schedule/posture-history/run', { token: admin })
    await signIn('#/vulnerabilities', 'mae')
    await page.getByText('Open findings in the last 30 days').click()
    await page.getByRole('img', { name: /open findings? at the last count; 1 day counted of 30/ }).waitFor()
    // the days before are unknown, to eyes, to the keyboard and in the table
    await page.getByRole('group', { name: /^Chart/ }).focus()
    await page.keyboard.press('Home')
    await page
      .locator('.daysaid')
      .getByText(/: no data$/)
      .waitFor()
    await page.keyboard.press('End')
    await page
      .locator('.daysaid')
      .getByText(/Critical \d/)
      .waitFor()
    await page.getByText('As a table').click()
    expect(await page.getByRole('cell', { name: 'no data' }).count()).toBe(29)
    await isFine()
    await page.getByText('Open findings in the last 30 days').click()
    await page.getByRole('link', { name: CVE }).click()
    const drawer = page.getByRole('complementary', { name: CVE })
    await drawer.getByText('A race before the login.').waitFor()
    await drawer.getByText('1:9.9', { exact: true }).waitFor()
    await isFine()
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Known exploited' }).click()
    await page.getByText('Nothing matches').waitFor()
    await page.getByRole('button', { name: 'Clear the filter' }).click()
    await page.getByRole('button', { name: 'By package' }).click()
    await isFine()
    await page.getByRole('link', { name: 'openssh-server' }).click()
    await page.getByRole('heading', { level: 1, name: 'Review queue' }).waitFor()
    await page.getByRole('checkbox', { name: `Decide about ${CVE}` }).waitFor()
  })

  test('the report for an auditor and the bill of materials are saved as files', async () => {
    await signIn('#/vulnerabilities')
    const save = async (what: string): Promise<{ readonly name: string; readonly text: string }> => {
      await page.getByRole('button', { name: 'Export' }).click()
      await page.getByLabel('What', { exact: true }).selectOption(what)
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Save the file' }).click(),
      ])
      return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') }
    }
    const report = await save('report-html')
    expect(report.name).toMatch(/\.html$/)
    expect(report.text).toContain(CVE)
    expect(JSON.parse((await save('openvex')).text)).toHaveProperty('@context')
  })

  test('only an admin loads data; a maintainer reads what is loaded', async () => {
    await signIn('#/engines', 'mae')
    await page.getByRole('row', { name: /^jammy/ }).waitFor()
    await page.getByText('Needs admin. You are maintainer.').first().waitFor()
    await dropFiles(page, 'body', [{ name: 'all.zip', bytes: ADVISORIES }])
    expect(await imports().count()).toBe(0)
  })
})
